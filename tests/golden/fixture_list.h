// The list of fixture tables in fixtures.txt, and the expected rows beside each fixture.
//
// A line is `<fixture> <table> reads` or `<fixture> <table> refuses <option>`; `#` begins a comment. After `reads`, `without=a,b` leaves out
// columns whose function is not built, and `unordered=c` names arrays whose order Java leaves to a hash table.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headrace {

struct FixtureTable {
  std::string fixture;
  std::string table;
  std::string refused_option = "";  // empty: must be read right
  std::vector<std::string> without = {};
  std::vector<std::string> unordered = {};

  std::string path() const;  // of the table's folder
};
std::ostream& operator<<(std::ostream& out, const FixtureTable& table);

std::vector<FixtureTable> ListedTables();
// "fixture table" for every table folder there is.
std::vector<std::string> TablesOnDisk();

struct Expectation {
  std::string what;  // between "<table>." and ".jsonl": scan-3, ordered, changes-from-1 …
  std::vector<std::string> lines;
};
// All expectations of a table, by name.
std::vector<Expectation> ExpectationsOf(const FixtureTable& table);

}  // namespace headrace
