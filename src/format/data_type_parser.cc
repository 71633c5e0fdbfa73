// Reads types and column lists from SQL text.
#include <array>
#include <charconv>

#include "format/data_type.h"

namespace headrace {
namespace {

constexpr int kMaxTypeDepth = 100;

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         (static_cast<unsigned char>(c) >= 0x80);
}

std::string UpperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

// What a type of other databases is called here; empty: nothing is known of it.
std::string_view NameHere(std::string_view upper) {
  struct Other {
    std::string_view name, here;
  };
  static constexpr Other kOthers[] = {{"TEXT", "STRING"},
                                      {"CLOB", "STRING"},
                                      {"LONGTEXT", "STRING"},
                                      {"MEDIUMTEXT", "STRING"},
                                      {"TINYTEXT", "STRING"},
                                      {"BPCHAR", "STRING"},
                                      {"JSON", "STRING"},
                                      {"JSONB", "STRING"},
                                      {"UUID", "STRING"},
                                      {"VARCHAR2", "VARCHAR(n)"},
                                      {"NVARCHAR", "VARCHAR(n)"},
                                      {"CHARACTER", "CHAR(n), or VARCHAR(n) where it is VARYING"},
                                      {"NCHAR", "CHAR(n)"},
                                      {"BOOL", "BOOLEAN"},
                                      {"INT1", "TINYINT"},
                                      {"BYTE", "TINYINT"},
                                      {"INT2", "SMALLINT"},
                                      {"SHORT", "SMALLINT"},
                                      {"SMALLSERIAL", "SMALLINT"},
                                      {"INT4", "INT"},
                                      {"MEDIUMINT", "INT"},
                                      {"SIGNED", "INT"},
                                      {"SERIAL", "INT"},
                                      {"INT8", "BIGINT"},
                                      {"LONG", "BIGINT"},
                                      {"BIGSERIAL", "BIGINT"},
                                      {"UTINYINT", "SMALLINT"},
                                      {"USMALLINT", "INT"},
                                      {"UINTEGER", "BIGINT"},
                                      {"UBIGINT", "DECIMAL(20, 0)"},
                                      {"HUGEINT", "DECIMAL(38, 0)"},
                                      {"NUMBER", "DECIMAL(p, s)"},
                                      {"MONEY", "DECIMAL(p, s)"},
                                      {"FLOAT4", "FLOAT"},
                                      {"REAL", "FLOAT"},
                                      {"FLOAT8", "DOUBLE"},
                                      {"BYTEA", "BYTES"},
                                      {"DATETIME", "TIMESTAMP(p)"},
                                      {"TIMESTAMPTZ", "TIMESTAMP_LTZ(p)"},
                                      {"STRUCT", "ROW<name type, …>"},
                                      {"LIST", "ARRAY<type>"}};
  for (const Other& other : kOthers)
    if (other.name == upper) return other.here;
  return {};
}

struct Token {
  enum Kind { kEnd, kWord, kQuotedName, kText, kNumber, kSymbol } kind = kEnd;
  std::string text;   // words as written; quoted ones without their quotes
  std::string upper;  // of a word
  size_t position = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<DataType> WholeType() {
    HEADRACE_RETURN_NOT_OK(Advance());
    HEADRACE_ASSIGN_OR_RETURN(DataType type, Type(0));
    if (token_.kind != Token::kEnd) return Unexpected("the end of the type");
    return type;
  }

  Result<std::vector<DataField>> WholeColumns() {
    HEADRACE_RETURN_NOT_OK(Advance());
    std::vector<DataField> fields;
    HEADRACE_RETURN_NOT_OK(Fields(0, &fields));
    if (token_.kind != Token::kEnd) return Unexpected("',' or the end of the column list");
    return fields;
  }

 private:
  template <typename... Args>
  Status Fail(size_t position, Args&&... args) const {
    return Invalid("parsing type '", text_.substr(0, 200), "' at position ", position + 1, ": ",
                   std::forward<Args>(args)...);
  }

  Status Unexpected(std::string_view wanted) const {
    if (token_.kind == Token::kEnd) return Fail(token_.position, "expected ", wanted, ", found the end");
    return Fail(token_.position, "expected ", wanted, ", found '", token_.text, "'");
  }

  // Moves to the next token.
  Status Advance() {
    while (next_ < text_.size() && (text_[next_] == ' ' || (text_[next_] >= '\t' && text_[next_] <= '\r')))
      ++next_;
    token_ = Token{};
    token_.position = next_;
    if (next_ == text_.size()) return Status::OK();
    const char c = text_[next_];
    if (c == '`' || c == '"') return Quoted(c, Token::kQuotedName);
    if (c == '\'') return Quoted(c, Token::kText);
    if (c >= '0' && c <= '9') return Run(Token::kNumber);
    if (IsWordByte(c)) return Run(Token::kWord);
    if (std::string_view("<>(),").find(c) == std::string_view::npos)
      return Fail(next_, "unexpected character '", c, "'");
    token_.kind = Token::kSymbol;
    token_.text = c;
    ++next_;
    return Status::OK();
  }

  Status Run(Token::Kind kind) {
    const size_t start = next_;
    while (next_ < text_.size() && IsWordByte(text_[next_])) ++next_;
    token_.kind = kind;
    token_.text = text_.substr(start, next_ - start);
    token_.upper = UpperCase(token_.text);
    return Status::OK();
  }

  // A doubled quote inside stands for one.
  Status Quoted(char quote, Token::Kind kind) {
    const size_t start = next_++;
    while (next_ < text_.size()) {
      const char c = text_[next_++];
      if (c != quote) {
        token_.text.push_back(c);
      } else if (next_ < text_.size() && text_[next_] == quote) {
        token_.text.push_back(c);
        ++next_;
      } else {
        token_.kind = kind;
        return Status::OK();
      }
    }
    return Fail(start, "the quote ", quote, " is not closed");
  }

  bool At(std::string_view word) const { return token_.kind == Token::kWord && token_.upper == word; }
  bool AtSymbol(char symbol) const { return token_.kind == Token::kSymbol && token_.text[0] == symbol; }

  Status TakeWord(std::string_view word) {
    if (!At(word)) return Unexpected(word);
    return Advance();
  }
  Status TakeSymbol(char symbol) {
    if (!AtSymbol(symbol)) return Unexpected(std::string("'") + symbol + "'");
    return Advance();
  }

  // NOT NULL, NULL or nothing.
  Status Nullability(DataType* type) {
    if (At("NOT")) {
      HEADRACE_RETURN_NOT_OK(Advance());
      HEADRACE_RETURN_NOT_OK(TakeWord("NULL"));
      type->nullable = false;
    } else if (At("NULL")) {
      return Advance();
    }
    return Status::OK();
  }

  Result<DataType> Type(int depth) {
    if (depth > kMaxTypeDepth)
      return Fail(token_.position, "types nested deeper than ", kMaxTypeDepth, " levels");
    HEADRACE_ASSIGN_OR_RETURN(DataType type, BareType(depth));
    HEADRACE_RETURN_NOT_OK(Nullability(&type));
    // INT ARRAY and INT MULTISET, the suffix notation of the SQL standard.
    while (At("ARRAY") || At("MULTISET")) {
      if (++depth > kMaxTypeDepth)
        return Fail(token_.position, "types nested deeper than ", kMaxTypeDepth, " levels");
      DataType outer;
      outer.root = At("ARRAY") ? TypeRoot::kArray : TypeRoot::kMultiset;
      outer.element = std::make_shared<DataType>(std::move(type));
      HEADRACE_RETURN_NOT_OK(Advance());
      HEADRACE_RETURN_NOT_OK(Nullability(&outer));
      type = std::move(outer);
    }
    return type;
  }

  Result<DataType> BareType(int depth) {
    if (token_.kind != Token::kWord) return Unexpected("a type");
    const Token name = token_;
    HEADRACE_RETURN_NOT_OK(Advance());
    struct Plain {
      std::string_view name;
      TypeRoot root;
      int32_t length;
    };
    static constexpr std::array<Plain, 11> kPlain = {{{"BOOLEAN", TypeRoot::kBoolean, 0},
                                                      {"TINYINT", TypeRoot::kTinyInt, 0},
                                                      {"SMALLINT", TypeRoot::kSmallInt, 0},
                                                      {"INT", TypeRoot::kInt, 0},
                                                      {"INTEGER", TypeRoot::kInt, 0},
                                                      {"BIGINT", TypeRoot::kBigInt, 0},
                                                      {"FLOAT", TypeRoot::kFloat, 0},
                                                      {"DATE", TypeRoot::kDate, 0},
                                                      {"STRING", TypeRoot::kVarChar, kMaxLength},
                                                      {"BYTES", TypeRoot::kVarBinary, kMaxLength},
                                                      {"DOUBLE", TypeRoot::kDouble, 0}}};
    DataType type;
    for (const Plain& plain : kPlain) {
      if (plain.name != name.upper) continue;
      type.root = plain.root;
      type.length = plain.length;
      if (plain.root == TypeRoot::kDouble && At("PRECISION")) HEADRACE_RETURN_NOT_OK(Advance());
      return type;
    }
    if (name.upper == "CHAR") return WithLength(TypeRoot::kChar);
    if (name.upper == "VARCHAR") return WithLength(TypeRoot::kVarChar);
    if (name.upper == "BINARY") return WithLength(TypeRoot::kBinary);
    if (name.upper == "VARBINARY") return WithLength(TypeRoot::kVarBinary);
    if (name.upper == "DECIMAL" || name.upper == "NUMERIC" || name.upper == "DEC") return Decimal();
    if (name.upper == "TIME") return Time();
    if (name.upper == "TIMESTAMP") return TimestampType();
    if (name.upper == "TIMESTAMP_LTZ") {
      type.root = TypeRoot::kTimestampLtz;
      HEADRACE_ASSIGN_OR_RETURN(type.precision, OptionalNumber(6, 0, 9, "precision"));
      return type;
    }
    if (name.upper == "ARRAY" || name.upper == "MULTISET" || name.upper == "MAP")
      return Collection(name.upper, depth);
    if (name.upper == "ROW") return Row(depth);
    if (name.upper == "VARIANT" || name.upper == "BLOB" || name.upper == "VECTOR" ||
        name.upper == "GEOMETRY" || name.upper == "GEOGRAPHY" || name.upper == "RAW" ||
        name.upper == "INTERVAL") {
      return Unsupported("parsing type '", text_.substr(0, 200), "' at position ", name.position + 1,
                         ": the type ", name.upper, " is not supported");
    }
    const std::string_view meant = NameHere(name.upper);
    return Fail(name.position, "'", name.text, "' is not a type",
                meant.empty() ? std::string() : "; here it is called " + std::string(meant));
  }

  // An int in parentheses, or the default when there are none.
  Result<int32_t> OptionalNumber(int32_t otherwise, int32_t least, int32_t most, const char* what) {
    if (!AtSymbol('(')) return otherwise;
    HEADRACE_RETURN_NOT_OK(Advance());
    HEADRACE_ASSIGN_OR_RETURN(int32_t number, Number(least, most, what));
    HEADRACE_RETURN_NOT_OK(TakeSymbol(')'));
    return number;
  }

  Result<int32_t> Number(int32_t least, int32_t most, const char* what) {
    if (token_.kind != Token::kNumber) return Unexpected("a number");
    int32_t number = 0;
    const char* end = token_.text.data() + token_.text.size();
    const auto [rest, error] = std::from_chars(token_.text.data(), end, number);
    if (error != std::errc() || rest != end || number < least || number > most) {
      return Fail(token_.position, what, " ", token_.text, " is not between ", least, " and ", most);
    }
    HEADRACE_RETURN_NOT_OK(Advance());
    return number;
  }

  Result<DataType> WithLength(TypeRoot root) {
    DataType type;
    type.root = root;
    HEADRACE_ASSIGN_OR_RETURN(type.length, OptionalNumber(1, 1, kMaxLength, "length"));
    return type;
  }

  Result<DataType> Decimal() {
    DataType type;
    type.root = TypeRoot::kDecimal;
    type.precision = 10;
    if (!AtSymbol('(')) return type;
    HEADRACE_RETURN_NOT_OK(Advance());
    HEADRACE_ASSIGN_OR_RETURN(type.precision, Number(1, 38, "precision"));
    if (AtSymbol(',')) {
      HEADRACE_RETURN_NOT_OK(Advance());
      HEADRACE_ASSIGN_OR_RETURN(type.scale, Number(0, type.precision, "scale"));
    }
    HEADRACE_RETURN_NOT_OK(TakeSymbol(')'));
    return type;
  }

  Status WithoutTimeZone() {
    if (!At("WITHOUT")) return Status::OK();
    HEADRACE_RETURN_NOT_OK(Advance());
    HEADRACE_RETURN_NOT_OK(TakeWord("TIME"));
    return TakeWord("ZONE");
  }

  Result<DataType> Time() {
    DataType type;
    type.root = TypeRoot::kTime;
    HEADRACE_ASSIGN_OR_RETURN(type.precision, OptionalNumber(0, 0, 9, "precision"));
    HEADRACE_RETURN_NOT_OK(WithoutTimeZone());
    return type;
  }

  Result<DataType> TimestampType() {
    DataType type;
    type.root = TypeRoot::kTimestamp;
    HEADRACE_ASSIGN_OR_RETURN(type.precision, OptionalNumber(6, 0, 9, "precision"));
    HEADRACE_RETURN_NOT_OK(WithoutTimeZone());
    if (!At("WITH")) return type;
    HEADRACE_RETURN_NOT_OK(Advance());
    if (At("TIME")) {
      return Unsupported("parsing type '", text_.substr(0, 200), "' at position ", token_.position + 1,
                         ": TIMESTAMP WITH TIME ZONE is not supported; TIMESTAMP WITH LOCAL TIME ZONE is");
    }
    HEADRACE_RETURN_NOT_OK(TakeWord("LOCAL"));
    HEADRACE_RETURN_NOT_OK(TakeWord("TIME"));
    HEADRACE_RETURN_NOT_OK(TakeWord("ZONE"));
    type.root = TypeRoot::kTimestampLtz;
    return type;
  }

  Result<std::shared_ptr<const DataType>> Inner(int depth) {
    HEADRACE_ASSIGN_OR_RETURN(DataType type, Type(depth + 1));
    return std::make_shared<const DataType>(std::move(type));
  }

  Result<DataType> Collection(const std::string& name, int depth) {
    DataType type;
    type.root = name == "ARRAY" ? TypeRoot::kArray : name == "MAP" ? TypeRoot::kMap : TypeRoot::kMultiset;
    HEADRACE_RETURN_NOT_OK(TakeSymbol('<'));
    if (type.root == TypeRoot::kMap) {
      HEADRACE_ASSIGN_OR_RETURN(type.key, Inner(depth));
      HEADRACE_RETURN_NOT_OK(TakeSymbol(','));
      HEADRACE_ASSIGN_OR_RETURN(type.value, Inner(depth));
    } else {
      HEADRACE_ASSIGN_OR_RETURN(type.element, Inner(depth));
    }
    HEADRACE_RETURN_NOT_OK(TakeSymbol('>'));
    return type;
  }

  Result<DataType> Row(int depth) {
    DataType type;
    type.root = TypeRoot::kRow;
    const bool angles = AtSymbol('<');
    if (!angles && !AtSymbol('(')) return Unexpected("'<' or '('");
    HEADRACE_RETURN_NOT_OK(Advance());
    HEADRACE_RETURN_NOT_OK(Fields(depth + 1, &type.fields));
    HEADRACE_RETURN_NOT_OK(TakeSymbol(angles ? '>' : ')'));
    return type;
  }

  Status Fields(int depth, std::vector<DataField>* fields) {
    while (true) {
      DataField field;
      if (token_.kind != Token::kWord && token_.kind != Token::kQuotedName)
        return Unexpected("a column name");
      field.name = token_.text;
      if (field.name.empty()) return Fail(token_.position, "a column name is empty");
      for (const DataField& other : *fields) {
        if (other.name == field.name)
          return Fail(token_.position, "column '", field.name, "' is named twice");
      }
      HEADRACE_RETURN_NOT_OK(Advance());
      HEADRACE_ASSIGN_OR_RETURN(field.type, Type(depth));
      HEADRACE_RETURN_NOT_OK(Description(&field));
      fields->push_back(std::move(field));
      if (!AtSymbol(',')) return Status::OK();
      HEADRACE_RETURN_NOT_OK(Advance());
    }
  }

  // COMMENT 'text', or inside a row the text alone.
  Status Description(DataField* field) {
    if (At("COMMENT")) {
      HEADRACE_RETURN_NOT_OK(Advance());
      if (token_.kind != Token::kText) return Unexpected("a comment in quotes");
    }
    if (token_.kind != Token::kText) return Status::OK();
    field->description = token_.text;
    return Advance();
  }

  std::string_view text_;
  size_t next_ = 0;
  Token token_;
};

}  // namespace

Result<DataType> ParseDataType(std::string_view text) {
  HEADRACE_ASSIGN_OR_RETURN(DataType type, Parser(text).WholeType());
  std::vector<DataField> holder(1);
  holder[0].type = std::move(type);
  int32_t highest_id = -2;  // the holder takes -1, so that the fields of rows begin at 0
  AssignFieldIds(&holder, &highest_id);
  return std::move(holder[0].type);
}

Result<std::vector<DataField>> ParseColumns(std::string_view text) {
  HEADRACE_ASSIGN_OR_RETURN(std::vector<DataField> fields, Parser(text).WholeColumns());
  int32_t highest_id = -1;
  AssignFieldIds(&fields, &highest_id);
  return fields;
}

}  // namespace headrace
