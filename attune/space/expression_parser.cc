// Precedence climbing over a hand-written scanner. Nesting, tree depth and text length are bounded,
// so hostile texts cannot exhaust the stack here or in the evaluator.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "attune/space/expression_tree.h"

namespace attune {
namespace {

enum class TokenKind { kEnd, kInteger, kReal, kString, kWord, kSymbol };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // Without the quotes for a string.
  size_t column = 1;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsWordPart(char c) { return IsWordStart(c) || IsDigit(c); }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

Status ErrorAt(size_t column, std::string_view reason) {
  return InvalidArgument(fmt::format("Column {} of the expression: {}", column, reason));
}

std::string Shown(const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end";
  std::string shown = "'";
  for (const char c : token.text.substr(0, 40)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + "'";
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Result<Token> Next() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
    if (at_ == text_.size()) return Token{TokenKind::kEnd, {}, at_ + 1};
    const char c = text_[at_];
    if (IsDigit(c) || (c == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
      return Number();
    }
    if (IsWordStart(c)) return Take(TokenKind::kWord, WordLength());
    if (c == '\'' || c == '"') return String(c);
    return Symbol();
  }

 private:
  size_t WordLength() const {
    size_t end = at_;
    while (end < text_.size() && IsWordPart(text_[end])) ++end;
    return end - at_;
  }

  Token Take(TokenKind kind, size_t length) {
    const Token token{kind, text_.substr(at_, length), at_ + 1};
    at_ += length;
    return token;
  }

  Result<Token> Number() {
    size_t end = at_;
    bool real = false;
    while (end < text_.size()) {
      const char c = text_[end];
      const bool exponent_sign = (c == '+' || c == '-') && end > at_ && !IsHexadecimal() &&
                                 (text_[end - 1] == 'e' || text_[end - 1] == 'E');
      if (!IsWordPart(c) && c != '.' && !exponent_sign) break;
      real = real || c == '.' || (!IsHexadecimal() && (c == 'e' || c == 'E'));
      ++end;
    }
    return Take(real ? TokenKind::kReal : TokenKind::kInteger, end - at_);
  }

  bool IsHexadecimal() const {
    return text_.size() - at_ > 1 && text_[at_] == '0' &&
           (text_[at_ + 1] == 'x' || text_[at_ + 1] == 'X');
  }

  Result<Token> String(char quote) {
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return ErrorAt(at_ + 1, "this string has no end.");
    const Token token{TokenKind::kString, text_.substr(at_ + 1, end - at_ - 1), at_ + 1};
    at_ = end + 1;
    return token;
  }

  Result<Token> Symbol() {
    static constexpr std::array<std::string_view, 29> kSymbols = {
        "<=", ">=", "==", "!=", "&&", "||", "//", "**", "<<", ">>", "<", ">", "!", "+", "-",
        "*",  "/",  "%",  "&",  "|",  "^",  "~",  "(",  ")",  "[",  "]", ",", "?", ":"};
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_, symbol.size()) == symbol)
        return Take(TokenKind::kSymbol, symbol.size());
    }
    return ErrorAt(
        at_ + 1,
        fmt::format("unexpected {}.", Shown({TokenKind::kSymbol, text_.substr(at_, 1), at_ + 1})));
  }

  std::string_view text_;
  size_t at_ = 0;
};

struct BinaryOperator {
  std::string_view text;
  ExpressionOp op;
  int c_level;  // Higher binds tighter.
  int python_level;

  int Level(ExpressionDialect dialect) const {
    return dialect == ExpressionDialect::kC ? c_level : python_level;
  }
};

constexpr int kOrLevel = 1;
constexpr int kAndLevel = 2;
constexpr int kComparisonLevel = 6;

constexpr BinaryOperator kBinaryOperators[] = {
    {"||", ExpressionOp::kOr, kOrLevel, kOrLevel},
    {"or", ExpressionOp::kOr, kOrLevel, kOrLevel},
    {"&&", ExpressionOp::kAnd, kAndLevel, kAndLevel},
    {"and", ExpressionOp::kAnd, kAndLevel, kAndLevel},
    {"|", ExpressionOp::kBitOr, 3, 7},
    {"^", ExpressionOp::kBitXor, 4, 8},
    {"&", ExpressionOp::kBitAnd, 5, 9},
    {"<", ExpressionOp::kLess, kComparisonLevel, kComparisonLevel},
    {"<=", ExpressionOp::kLessEqual, kComparisonLevel, kComparisonLevel},
    {">", ExpressionOp::kGreater, kComparisonLevel, kComparisonLevel},
    {">=", ExpressionOp::kGreaterEqual, kComparisonLevel, kComparisonLevel},
    {"==", ExpressionOp::kEqual, kComparisonLevel, kComparisonLevel},
    {"!=", ExpressionOp::kNotEqual, kComparisonLevel, kComparisonLevel},
    {"in", ExpressionOp::kIn, kComparisonLevel, kComparisonLevel},
    {"not", ExpressionOp::kIn, kComparisonLevel, kComparisonLevel},  // "x not in (...)".
    {"<<", ExpressionOp::kShiftLeft, 10, 10},
    {">>", ExpressionOp::kShiftRight, 10, 10},
    {"+", ExpressionOp::kAdd, 11, 11},
    {"-", ExpressionOp::kSubtract, 11, 11},
    {"*", ExpressionOp::kMultiply, 12, 12},
    {"/", ExpressionOp::kDivide, 12, 12},
    {"//", ExpressionOp::kFloorDivide, 12, 12},
    {"%", ExpressionOp::kModulo, 12, 12},
};

struct FunctionRule {
  std::string_view name;
  ExpressionOp op;
  size_t min_arguments;
  size_t max_arguments;
};

constexpr size_t kMaxArguments = 64;
constexpr FunctionRule kFunctions[] = {
    {"min", ExpressionOp::kMin, 1, kMaxArguments},
    {"max", ExpressionOp::kMax, 1, kMaxArguments},
    {"abs", ExpressionOp::kAbs, 1, 1},
    {"int", ExpressionOp::kTruncate, 1, 1},
    {"ceil_div", ExpressionOp::kCeilDivide, 2, 2},
    {"gcd", ExpressionOp::kGcd, 2, 2},
};

bool IsReserved(std::string_view word) {
  static constexpr std::string_view kWords[] = {"and", "or", "not", "in", "if", "else"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

class Parser {
 public:
  Parser(std::string_view text, ExpressionDialect dialect) : scanner_(text), dialect_(dialect) {}

  Result<ExpressionTree> Parse() {
    ATTUNE_RETURN_IF_ERROR(Advance());
    ATTUNE_ASSIGN_OR_RETURN(const NodeIndex root, Conditional());
    if (token_.kind != TokenKind::kEnd) return Expected("an operator or the end");
    tree_.root = root;
    return std::move(tree_);
  }

 private:
  Status Advance() {
    ATTUNE_ASSIGN_OR_RETURN(token_, scanner_.Next());
    return Status::Ok();
  }

  bool At(std::string_view text) const {
    return (token_.kind == TokenKind::kSymbol || token_.kind == TokenKind::kWord) &&
           token_.text == text;
  }

  Status Expected(std::string_view what) const {
    return ErrorAt(token_.column, fmt::format("expected {}, found {}.", what, Shown(token_)));
  }

  Status Consume(std::string_view text) {
    if (!At(text)) return Expected(fmt::format("'{}'", text));
    return Advance();
  }

  Result<NodeIndex> Add(ExpressionOp op, size_t column, std::vector<NodeIndex> children) {
    ExpressionNode node;
    node.op = op;
    node.column = column;
    node.children = std::move(children);
    return Add(std::move(node));
  }

  Result<NodeIndex> Add(ExpressionNode node) {
    for (const NodeIndex child : node.children) {
      node.depth = std::max(node.depth, tree_.nodes[child].depth + 1);
    }
    if (node.depth > Expression::kMaxDepth) {
      return ErrorAt(node.column,
                     fmt::format("more than {} operators nest here.", Expression::kMaxDepth));
    }
    tree_.nodes.push_back(std::move(node));
    return static_cast<NodeIndex>(tree_.nodes.size() - 1);
  }

  // Counts nesting on the way in and out of a recursive rule.
  class Nesting {
   public:
    explicit Nesting(int& depth) : depth_(depth) { ++depth_; }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    int& depth_;
  };

  Status CheckNesting() const {
    if (nesting_ <= Expression::kMaxDepth) return Status::Ok();
    return ErrorAt(token_.column,
                   fmt::format("more than {} levels nest here.", Expression::kMaxDepth));
  }

  Result<NodeIndex> Conditional() {
    const Nesting nesting(nesting_);
    ATTUNE_RETURN_IF_ERROR(CheckNesting());
    ATTUNE_ASSIGN_OR_RETURN(const NodeIndex first, Binary(kOrLevel));
    const size_t column = token_.column;
    if (At("?")) {
      ATTUNE_RETURN_IF_ERROR(Advance());
      ATTUNE_ASSIGN_OR_RETURN(const NodeIndex then, Conditional());
      ATTUNE_RETURN_IF_ERROR(Consume(":"));
      ATTUNE_ASSIGN_OR_RETURN(const NodeIndex otherwise, Conditional());
      return Add(ExpressionOp::kConditional, column, {first, then, otherwise});
    }
    if (!At("if")) return first;
    ATTUNE_RETURN_IF_ERROR(Advance());
    ATTUNE_ASSIGN_OR_RETURN(const NodeIndex condition, Binary(kOrLevel));
    ATTUNE_RETURN_IF_ERROR(Consume("else"));
    ATTUNE_ASSIGN_OR_RETURN(const NodeIndex otherwise, Conditional());
    return Add(ExpressionOp::kConditional, column, {condition, first, otherwise});
  }

  const BinaryOperator* OperatorHere() const {
    if (token_.kind != TokenKind::kSymbol && token_.kind != TokenKind::kWord) return nullptr;
    for (const BinaryOperator& candidate : kBinaryOperators) {
      if (candidate.text == token_.text) return &candidate;
    }
    return nullptr;
  }

  Result<NodeIndex> Binary(int min_level) {
    const Nesting nesting(nesting_);
    ATTUNE_RETURN_IF_ERROR(CheckNesting());
    ATTUNE_ASSIGN_OR_RETURN(NodeIndex left,
                            min_level <= kAndLevel + 1 && At("not") ? LooseNot() : Unary());
    while (const BinaryOperator* const found = OperatorHere()) {
      const int level = found->Level(dialect_);
      if (level < min_level) break;
      if (level == kComparisonLevel) {
        ATTUNE_ASSIGN_OR_RETURN(left, Comparisons(left));
        continue;
      }
      const size_t column = token_.column;
      ATTUNE_RETURN_IF_ERROR(Advance());
      ATTUNE_ASSIGN_OR_RETURN(const NodeIndex right, Binary(level + 1));
      ATTUNE_ASSIGN_OR_RETURN(left, Add(found->op, column, {left, right}));
    }
    return left;
  }

  Result<NodeIndex> LooseNot() {
    const size_t column = token_.column;
    ATTUNE_RETURN_IF_ERROR(Advance());
    ATTUNE_ASSIGN_OR_RETURN(const NodeIndex operand, Binary(kAndLevel + 1));
    return Add(ExpressionOp::kNot, column, {operand});
  }

  // `left` and every comparison that follows on the same level.
  Result<NodeIndex> Comparisons(NodeIndex left) {
    if (OperatorHere()->op == ExpressionOp::kIn) return Membership(left);
    ExpressionNode chain;
    chain.op = ExpressionOp::kChain;
    chain.column = token_.column;
    chain.children = {left};
    for (const BinaryOperator* link = OperatorHere();
         link != nullptr && link->Level(dialect_) == kComparisonLevel; link = OperatorHere()) {
      if (!chain.links.empty()) ATTUNE_RETURN_IF_ERROR(CheckChain(link->op));
      ATTUNE_RETURN_IF_ERROR(Advance());
      ATTUNE_ASSIGN_OR_RETURN(const NodeIndex right, Binary(kComparisonLevel + 1));
      chain.links.push_back(link->op);
      chain.children.push_back(right);
    }
    if (chain.links.size() == 1) return Add(chain.links[0], chain.column, chain.children);
    return Add(std::move(chain));
  }

  Status CheckChain(ExpressionOp next) const {
    if (dialect_ == ExpressionDialect::kC) {
      return ErrorAt(token_.column, "comparisons do not chain; write a < b && b < c.");
    }
    if (next == ExpressionOp::kIn) return ErrorAt(token_.column, "'in' cannot be chained.");
    return Status::Ok();
  }

  Result<NodeIndex> Membership(NodeIndex left) {
    const size_t column = token_.column;
    const bool negated = At("not");
    if (negated) ATTUNE_RETURN_IF_ERROR(Advance());
    ATTUNE_RETURN_IF_ERROR(Consume("in"));
    const bool square = At("[");
    ATTUNE_RETURN_IF_ERROR(Consume(square ? "[" : "("));
    std::vector<NodeIndex> children = {left};
    ATTUNE_RETURN_IF_ERROR(List(square ? "]" : ")", children));
    if (const BinaryOperator* const next = OperatorHere();
        next != nullptr && next->Level(dialect_) == kComparisonLevel) {
      return ErrorAt(token_.column, "'in' cannot be chained.");
    }
    ATTUNE_ASSIGN_OR_RETURN(const NodeIndex node,
                            Add(ExpressionOp::kIn, column, std::move(children)));
    return negated ? Add(ExpressionOp::kNot, column, {node}) : node;
  }

  // Expressions parted by commas up to `close`, a trailing comma allowed as in a Python tuple.
  Status List(std::string_view close, std::vector<NodeIndex>& items) {
    while (true) {
      ATTUNE_ASSIGN_OR_RETURN(const NodeIndex item, Conditional());
      items.push_back(item);
      if (At(close)) break;
      ATTUNE_RETURN_IF_ERROR(Consume(","));
      if (At(close)) break;
    }
    return Advance();
  }

  Result<NodeIndex> Unary() {
    const Nesting nesting(nesting_);
    ATTUNE_RETURN_IF_ERROR(CheckNesting());
    const size_t column = token_.column;
    const bool negate = At("-");
    const bool invert = At("!");
    const bool plus = At("+");
    if (!negate && !invert && !plus && !At("~")) return Power();
    ATTUNE_RETURN_IF_ERROR(Advance());
    if (negate && token_.kind == TokenKind::kInteger && !IsBase()) return Integer("-");
    ATTUNE_ASSIGN_OR_RETURN(const NodeIndex operand, Unary());
    if (plus) return operand;
    const ExpressionOp op = negate   ? ExpressionOp::kNegate
                            : invert ? ExpressionOp::kNot
                                     : ExpressionOp::kBitNot;
    return Add(op, column, {operand});
  }

  // True if the operand here is the base of a power.
  bool IsBase() const {
    Scanner ahead = scanner_;
    const Result<Token> next = ahead.Next();
    return next.ok() && next->kind == TokenKind::kSymbol && next->text == "**";
  }

  // The Python dialect's power: right-associative, and the exponent may have a sign.
  Result<NodeIndex> Power() {
    ATTUNE_ASSIGN_OR_RETURN(const NodeIndex base, Primary());
    if (!At("**")) return base;
    const size_t column = token_.column;
    if (dialect_ == ExpressionDialect::kC) {
      return ErrorAt(column, "there is no operator '**' in C; \"expressions\": \"python\" has it.");
    }
    ATTUNE_RETURN_IF_ERROR(Advance());
    ATTUNE_ASSIGN_OR_RETURN(const NodeIndex exponent, Unary());
    return Add(ExpressionOp::kPower, column, {base, exponent});
  }

  Result<NodeIndex> Primary() {
    switch (token_.kind) {
      case TokenKind::kInteger:
        return Integer("");
      case TokenKind::kReal:
        return Real();
      case TokenKind::kString:
        return Leaf(ExpressionOp::kString);
      case TokenKind::kWord:
        return Word();
      default:
        break;
    }
    if (!At("(")) return Expected("a value");
    ATTUNE_RETURN_IF_ERROR(Advance());
    ATTUNE_ASSIGN_OR_RETURN(const NodeIndex inner, Conditional());
    ATTUNE_RETURN_IF_ERROR(Consume(")"));
    return inner;
  }

  // The sign belongs to the literal, or the smallest integer could not be written.
  Result<NodeIndex> Integer(std::string_view sign) {
    std::string_view digits = token_.text;
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16;
      digits.remove_prefix(2);
    } else if (digits.starts_with('0') && digits.find_first_not_of('0') != digits.npos) {
      if (dialect_ == ExpressionDialect::kPython) {
        return ErrorAt(token_.column, fmt::format("{} begins with 0, as no number of Python does.",
                                                  Shown(token_)));
      }
      base = 8;
    }
    const std::string number = std::string(sign) + std::string(digits);
    ExpressionNode node;
    node.column = token_.column;
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, node.integer, base);
    if (error != std::errc() || stop != end) {
      return ErrorAt(token_.column, fmt::format("{} is not a 64-bit integer{}.", Shown(token_),
                                                base == 8 ? " in octal, as C reads it" : ""));
    }
    ATTUNE_RETURN_IF_ERROR(Advance());
    return Add(std::move(node));
  }

  Result<NodeIndex> Real() {
    ExpressionNode node;
    node.op = ExpressionOp::kReal;
    node.column = token_.column;
    const char* const end = token_.text.data() + token_.text.size();
    const auto [stop, error] = std::from_chars(token_.text.data(), end, node.real);
    if (error != std::errc() || stop != end) {
      return ErrorAt(token_.column, fmt::format("{} is not a real number.", Shown(token_)));
    }
    ATTUNE_RETURN_IF_ERROR(Advance());
    return Add(std::move(node));
  }

  Result<NodeIndex> Leaf(ExpressionOp op) {
    ExpressionNode node;
    node.op = op;
    node.column = token_.column;
    node.text = std::string(token_.text);
    ATTUNE_RETURN_IF_ERROR(Advance());
    return Add(std::move(node));
  }

  Result<NodeIndex> Word() {
    const Token word = token_;
    if (IsReserved(word.text)) return Expected("a value");
    ATTUNE_ASSIGN_OR_RETURN(const NodeIndex name, Leaf(ExpressionOp::kName));
    if (At("(")) return Call(word, name);
    ExpressionNode& node = tree_.nodes[name];
    const bool truth = word.text == "true" || word.text == "True";
    if (truth || word.text == "false" || word.text == "False") {
      node.op = ExpressionOp::kInteger;
      node.integer = truth ? 1 : 0;
    }
    return name;
  }

  // The node of the function's name is dropped again: it is no value.
  Result<NodeIndex> Call(const Token& word, NodeIndex name) {
    const auto* const rule =
        std::find_if(std::begin(kFunctions), std::end(kFunctions),
                     [&word](const FunctionRule& each) { return each.name == word.text; });
    if (rule == std::end(kFunctions)) {
      return ErrorAt(word.column, fmt::format("there is no function {}; min, max, abs, int, "
                                              "ceil_div and gcd are known.",
                                              Shown(word)));
    }
    tree_.nodes.resize(name);
    ATTUNE_RETURN_IF_ERROR(Consume("("));
    std::vector<NodeIndex> arguments;
    ATTUNE_RETURN_IF_ERROR(List(")", arguments));
    if (arguments.size() < rule->min_arguments || arguments.size() > rule->max_arguments) {
      return ErrorAt(word.column,
                     fmt::format("{} does not take {} arguments.", rule->name, arguments.size()));
    }
    return Add(rule->op, word.column, std::move(arguments));
  }

  Scanner scanner_;
  ExpressionDialect dialect_;
  Token token_;
  ExpressionTree tree_;
  int nesting_ = 0;
};

}  // namespace

Result<ExpressionTree> ParseExpression(std::string_view text, ExpressionDialect dialect) {
  if (text.size() > Expression::kMaxTextBytes) {
    return InvalidArgument(fmt::format("The expression has {} bytes, more than {}.", text.size(),
                                       Expression::kMaxTextBytes));
  }
  return Parser(text, dialect).Parse();
}

}  // namespace attune
