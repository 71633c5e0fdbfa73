// kill -9 of the real program at random moments. The same command, started again, must end in the same table, each change exactly once.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/random.h"
#include "base/uuid.h"
#include "tests/crash/process.h"
#include "tests/crash/story.h"

namespace headrace::crash {
namespace {

constexpr int kEvents = 2000;
constexpr int kKeys = 400;
constexpr int kKillsATable = 7;
constexpr int64_t kLeastWholeUs = 5000;
constexpr int kKillsOfCompactions = 8;

// HEADRACE_CRASH_KILLS asks for so many kills of each kind.
int KillsWanted(int by_default) {
  const char* const asked = std::getenv("HEADRACE_CRASH_KILLS");
  return asked == nullptr ? by_default : std::max(1, std::atoi(asked));
}

struct Event {
  std::optional<Row> before;
  std::optional<Row> after;
};

// One way to ingest.
struct Way {
  std::string name;
  std::string commit_every;
  int bad_line_every = 0;  // a line that is no event after that many; 0: none
  bool postponed = false;  // rows wait for their buckets until a compaction
  bool moves = false;      // updates move keys between partitions
};
std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }

// Events as a source with whole before-images sends them. Each row has an amount of its own.
std::vector<Event> MakeEvents(uint64_t seed, const Way& way) {
  Random random(seed);
  std::map<int64_t, Row> live;
  std::vector<Event> events;
  for (int i = 0; i < kEvents; ++i) {
    const int64_t id = random.Between(1, kKeys);
    const std::string name =
        way.moves ? "p" + std::to_string(random.Below(3)) : "name-" + std::to_string(random.Below(100'000));
    const Row fresh{id, name, static_cast<int32_t>(i)};
    const auto row = live.find(id);
    if (row == live.end()) {
      events.push_back({std::nullopt, fresh});
      live[id] = fresh;
    } else if (random.OneIn(4)) {
      events.push_back({row->second, std::nullopt});
      live.erase(row);
    } else {
      events.push_back({row->second, fresh});
      row->second = fresh;
    }
  }
  return events;
}

void AppendImage(std::string_view key, const std::optional<Row>& row, JsonWriter* writer) {
  writer->Key(key);
  if (!row.has_value()) {
    writer->Null();
    return;
  }
  writer->BeginObject()
      .Field("id", row->id)
      .Field("name", row->name)
      .Field("amount", row->amount)
      .EndObject();
}

// The lines, and the numbers of those that are no events.
std::string ToDebezium(const std::vector<Event>& events, const Way& way, std::vector<int64_t>* bad_lines) {
  std::string lines;
  int64_t number = 0;
  for (const Event& event : events) {
    if (way.bad_line_every > 0 && ++number % way.bad_line_every == 0) {
      lines += "{\"broken\": " + std::to_string(number) + "\n";
      bad_lines->push_back(number++);
    }
    JsonWriter writer(JsonLayout::kFlat);
    writer.BeginObject();
    AppendImage("before", event.before, &writer);
    AppendImage("after", event.after, &writer);
    writer.Key("source").BeginObject().Field("connector", "postgresql").Field("db", "shop");
    writer.Field("schema", "public").Field("table", "t").EndObject();
    writer.Field("op", !event.before ? "c" : !event.after ? "d" : "u").EndObject();
    lines += std::move(writer).Finish() + "\n";
  }
  return lines;
}

std::vector<Change> ToChanges(const Event& event) {
  if (!event.before) return {{Kind::kInsert, *event.after}};
  if (!event.after) return {{Kind::kDelete, *event.before}};
  return {{Kind::kUpdateBefore, *event.before}, {Kind::kUpdateAfter, *event.after}};
}

bool IsAdd(Kind kind) { return kind == Kind::kInsert || kind == Kind::kUpdateAfter; }

// Of a key that moves: the deletes that a move brings to the old partition are taken out, with the values of the row that came elsewhere;
// the rest is put into the order of events, which is not told between partitions.
std::vector<Change> WithoutMoves(std::vector<Change> changes) {
  const std::vector<Change> all = changes;
  std::erase_if(changes, [&](const Change& change) {
    return change.kind == Kind::kDelete && std::any_of(all.begin(), all.end(), [&](const Change& other) {
             return IsAdd(other.kind) && other.row.amount == change.row.amount &&
                    other.row.name != change.row.name;
           });
  });
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::pair(a.row.amount, !IsAdd(a.kind)) < std::pair(b.row.amount, !IsAdd(b.kind));
  });
  return changes;
}

// The table as the program shows it.
struct Shown {
  bool exists = false;
  std::string error;
  std::vector<Row> rows;
  std::map<int64_t, std::vector<Change>> changes;
  int64_t change_count = 0;
};

class KillTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    const char* const chosen = std::getenv("HEADRACE_CRASH_SEED");
    seed_ = chosen != nullptr
                ? std::strtoull(chosen, nullptr, 10)
                : static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    std::cout << "HEADRACE_CRASH_SEED=" << seed_ << std::endl;
    random_ = Random(seed_);
    folder_ = std::filesystem::path(testing::TempDir()) / ("headrace-kill-" + NewUuid());
    std::filesystem::create_directories(folder_);
    events_ = MakeEvents(seed_, GetParam());
    std::ofstream(folder_ / "events.jsonl") << ToDebezium(events_, GetParam(), &bad_lines_);
  }
  void TearDown() override {
    if (!HasFailure()) std::filesystem::remove_all(folder_);
    if (HasFailure()) std::cout << "left for a look: " << folder_ << std::endl;
  }

  Ending Run(std::vector<std::string> arguments, std::optional<int64_t> kill_after_us = std::nullopt) {
    arguments.insert(arguments.begin(), {"--quiet", "--warehouse", (folder_ / warehouse_).string()});
    return RunProgram(HEADRACE_PROGRAM, arguments, folder_.string(), kill_after_us);
  }

  std::vector<std::string> IngestCommand() const {
    std::vector<std::string> command = {"ingest",
                                        "db.t",
                                        (folder_ / "events.jsonl").string(),
                                        "--format",
                                        "debezium-json",
                                        "--create",
                                        "--primary-key",
                                        "id",
                                        "--option",
                                        GetParam().moves       ? "bucket=-1"
                                        : GetParam().postponed ? "bucket=-2"
                                                               : "bucket=2",
                                        "--option",
                                        "changelog-producer=input",
                                        "--option",
                                        "num-sorted-run.compaction-trigger=3",
                                        "--commit-every",
                                        GetParam().commit_every};
    if (GetParam().moves) command.insert(command.end(), {"--partition-by", "name"});
    if (!bad_lines_.empty()) {
      command.insert(command.end(), {"--on-bad-record", "dead-letter=" + DeadLetterFile()});
    }
    return command;
  }

  std::string DeadLetterFile() const { return (folder_ / (warehouse_ + ".dead.jsonl")).string(); }

  // Exit status 3 says that there are dead letters.
  void ExpectDone(const Ending& ending) const {
    EXPECT_TRUE(ending.status == 0 || (ending.status == 3 && !bad_lines_.empty()))
        << ending.status << ": " << ending.err;
  }

  void CheckDeadLetters() const {
    if (bad_lines_.empty()) return;
    std::vector<int64_t> lines;
    std::ifstream file(DeadLetterFile());
    for (std::string line; std::getline(file, line);) {
      lines.push_back(GetInt64(ParseJson(line, "a dead letter").ValueOrDie(), "line", line).ValueOrDie());
    }
    EXPECT_EQ(lines, bad_lines_) << "each bad line once, in order";
  }

  Shown Show() {
    Shown shown;
    if (GetParam().postponed) {
      const Ending compacted = Run({"compact", "db.t"});
      if (compacted.status != 0) {
        shown.error = compacted.err;
        return shown;
      }
    }
    const Ending read = Run({"read", "db.t", "--format", "jsonl"});
    if (read.status != 0) {
      shown.error = read.err;
      return shown;
    }
    shown.exists = true;
    std::istringstream rows(read.out);
    for (std::string line; std::getline(rows, line);) shown.rows.push_back(ParseRow(line));
    std::sort(shown.rows.begin(), shown.rows.end());

    const Ending changes = Run({"changes", "db.t", "--from", "earliest", "--format", "jsonl"});
    EXPECT_EQ(changes.status, 0) << changes.err;
    std::istringstream lines(changes.out);
    for (std::string line; std::getline(lines, line); ++shown.change_count) {
      const Row row = ParseRow(line);
      shown.changes[row.id].push_back({ParseKind(line), row});
    }
    if (GetParam().moves) {
      for (auto& [id, of_id] : shown.changes) {
        const size_t before = of_id.size();
        of_id = WithoutMoves(std::move(of_id));
        shown.change_count -= static_cast<int64_t>(before - of_id.size());
      }
    }
    return shown;
  }

  static Row ParseRow(const std::string& line) {
    const auto object = ParseJson(line, "a line of output").ValueOrDie();
    return {GetInt64(object, "id", line).ValueOrDie(), GetString(object, "name", line).ValueOrDie(),
            GetInt32(object, "amount", line).ValueOrDie()};
  }

  static Kind ParseKind(const std::string& line) {
    const std::string text =
        GetString(ParseJson(line, "a line of output").ValueOrDie(), "_rowkind", line).ValueOrDie();
    return text == "+I"   ? Kind::kInsert
           : text == "-U" ? Kind::kUpdateBefore
           : text == "+U" ? Kind::kUpdateAfter
                          : Kind::kDelete;
  }

  // The table holds exactly the first events, as many as its changes tell; that number.
  int CheckPrefix(const Shown& shown) {
    int64_t counted = 0;
    int events = 0;
    std::map<int64_t, std::vector<Change>> expected;
    std::map<int64_t, Row> state;
    for (; events < kEvents && counted < shown.change_count; ++events) {
      const Event& event = events_[static_cast<size_t>(events)];
      for (const Change& change : ToChanges(event)) {
        expected[change.row.id].push_back(change);
        ++counted;
      }
      if (event.after) {
        state[event.after->id] = *event.after;
      } else {
        state.erase(event.before->id);
      }
    }
    if (GetParam().moves)
      for (auto& [id, of_id] : expected) of_id = WithoutMoves(std::move(of_id));
    EXPECT_EQ(counted, shown.change_count) << "an event is there in half, or more changes than events bring";
    EXPECT_EQ(shown.changes, expected) << "not the changes of the first " << events << " events";
    std::vector<Row> rows;
    for (const auto& [id, row] : state) rows.push_back(row);
    EXPECT_EQ(shown.rows, rows) << "not the rows after " << events << " events";
    return events;
  }

  // What a killed process leaves under a temporary name is known by it: readers pass it over, orphan cleaning takes it.
  void CheckLeftovers() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / warehouse_)) {
      const std::string name = entry.path().filename().string();
      EXPECT_TRUE(!name.starts_with(".") || (name.starts_with(".headrace.") && name.ends_with(".tmp")))
          << entry.path();
    }
  }

  // One table, killed up to `kills` times on its way; the number of kills that hit a running program. `whole_us` is how long an ingest
  // is thought to take: it follows what is seen, since the machine may be faster or slower than when it was measured.
  int IngestWithKills(int kills, int64_t* whole_us) {
    warehouse_ = "warehouse-" + NewUuid();
    int hits = 0;
    int before = 0;
    bool ended = false;
    while (hits < kills && !ended && !HasFailure()) {
      const int64_t after = random_.Between(0, *whole_us);
      const Ending ending = Run(IngestCommand(), after);
      if (ending.killed) {
        ++hits;
        *whole_us += *whole_us / 8;
      } else {
        ExpectDone(ending);
        ended = true;
        *whole_us = std::max(*whole_us / 2, kLeastWholeUs);
      }
      const Shown shown = Show();
      if (!shown.exists) {
        EXPECT_THAT(shown.error, testing::HasSubstr("not found"));
        EXPECT_EQ(before, 0) << "the table was there and is gone";
        continue;
      }
      const int now = CheckPrefix(shown);
      EXPECT_GE(now, before) << "acknowledged events are gone";
      before = now;
    }
    ExpectDone(Run(IngestCommand()));
    EXPECT_EQ(CheckPrefix(Show()), kEvents);
    CheckDeadLetters();
    ExpectDone(Run(IngestCommand()));
    EXPECT_EQ(CheckPrefix(Show()), kEvents) << "ingested twice";
    CheckDeadLetters();
    CheckLeftovers();
    return hits;
  }

  // How long an undisturbed ingest takes.
  int64_t MeasureIngest() {
    warehouse_ = "undisturbed-" + NewUuid();
    const auto begin = std::chrono::steady_clock::now();
    const Ending ending = Run(IngestCommand());
    const auto end = std::chrono::steady_clock::now();
    ExpectDone(ending);
    EXPECT_EQ(CheckPrefix(Show()), kEvents);
    CheckDeadLetters();
    return std::chrono::duration_cast<std::chrono::microseconds>(end - begin).count();
  }

  uint64_t seed_ = 0;
  Random random_{0};
  std::filesystem::path folder_;
  std::string warehouse_;
  std::vector<Event> events_;
  std::vector<int64_t> bad_lines_;
};

std::string NameOfWay(const testing::TestParamInfo<Way>& info) { return info.param.name; }

// Seventy kills in all, unless more are asked for.
class KilledIngest : public KillTest {};
INSTANTIATE_TEST_SUITE_P(
    Committing, KilledIngest,
    testing::Values(Way{"ByRows", "100"}, Way{"ByTime", "30ms"}, Way{"WithDeadLetters", "100", 37},
                    Way{.name = "PostponedBuckets", .commit_every = "100", .postponed = true},
                    Way{.name = "MovingKeys", .commit_every = "100", .moves = true}),
    NameOfWay);

TEST_P(KilledIngest, EndsInTheSameTableWhenStartedAgain) {
  int64_t whole_us = MeasureIngest();
  std::cout << "undisturbed: " << whole_us / 1000 << " ms" << std::endl;
  const int wanted = KillsWanted(2 * kKillsATable);
  int hits = 0;
  for (int table = 0; hits < wanted && !HasFailure(); ++table) {
    ASSERT_LT(table, 20 + wanted) << "too few kills hit the program";
    hits += IngestWithKills(kKillsATable, &whole_us);
  }
  std::cout << hits << " kills" << std::endl;
}

class KilledCompaction : public KillTest {};
INSTANTIATE_TEST_SUITE_P(After, KilledCompaction,
                         testing::Values(Way{"AnIngest", "100"}, Way{.name = "AnIngestOfMovingKeys",
                                                                     .commit_every = "100",
                                                                     .moves = true}),
                         NameOfWay);

TEST_P(KilledCompaction, ChangesNothingThatIsRead) {
  int64_t whole_us = MeasureIngest();
  const int wanted = KillsWanted(kKillsOfCompactions);
  // An ingest into several partitions takes much longer than a compaction of them.
  const int64_t share = GetParam().moves ? 16 : 4;
  int hits = 0;
  for (int tries = 0; hits < wanted && tries < 20 + 4 * wanted && !HasFailure(); ++tries) {
    const Ending ending = Run({"compact", "db.t", "--full"}, random_.Between(0, whole_us / share));
    EXPECT_TRUE(ending.killed || ending.status == 0) << ending.err;
    hits += ending.killed ? 1 : 0;
    EXPECT_EQ(CheckPrefix(Show()), kEvents);
    // What has been compacted whole gives the next kill nothing to hit.
    if (!ending.killed) whole_us = MeasureIngest();
  }
  std::cout << hits << " kills" << std::endl;
  EXPECT_EQ(Run({"compact", "db.t", "--full"}).status, 0);
  EXPECT_EQ(CheckPrefix(Show()), kEvents);
  CheckLeftovers();
}

// The compaction that gives waiting rows their buckets: killed at any moment, the next one gives each its bucket once.
class KilledAssignment : public KillTest {};
INSTANTIATE_TEST_SUITE_P(
    Of, KilledAssignment,
    testing::Values(Way{.name = "PostponedRows", .commit_every = "100", .postponed = true}), NameOfWay);

TEST_P(KilledAssignment, LosesNoRowAndShowsNoneTwice) {
  const int wanted = KillsWanted(kKillsOfCompactions);
  int64_t whole_us = MeasureIngest() / 4;
  int hits = 0;
  for (int tries = 0; hits < wanted && tries < 20 + 4 * wanted && !HasFailure(); ++tries) {
    warehouse_ = "waiting-" + NewUuid();
    ExpectDone(Run(IngestCommand()));
    const Ending ending = Run({"compact", "db.t", "--full"}, random_.Between(0, whole_us));
    EXPECT_TRUE(ending.killed || ending.status == 0) << ending.err;
    hits += ending.killed ? 1 : 0;
    whole_us = ending.killed ? whole_us + whole_us / 8 : std::max(whole_us / 2, kLeastWholeUs);
    EXPECT_EQ(CheckPrefix(Show()), kEvents);
    CheckLeftovers();
  }
  std::cout << hits << " kills" << std::endl;
  EXPECT_GT(hits, 0);
}

}  // namespace
}  // namespace headrace::crash
