#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/number_text.h"
#include "ingest/encoded_bytes.h"
#include "ingest/exact_number.h"

namespace headrace::ingest {
namespace {

std::string Whole(std::string_view text) {
  int64_t value = 0;
  std::string why;
  return WholeNumber(text, &value, &why) ? std::to_string(value) : why;
}

TEST(WholeNumber, IsWholeHoweverItIsWritten) {
  EXPECT_EQ(Whole("0"), "0");
  EXPECT_EQ(Whole("-0"), "0");
  EXPECT_EQ(Whole("78804.0"), "78804");
  EXPECT_EQ(Whole("78805e0"), "78805");
  EXPECT_EQ(Whole("1.5e1"), "15");
  EXPECT_EQ(Whole("120e-1"), "12");
  EXPECT_EQ(Whole("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(Whole("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(Whole("-9223372036854775808.000"), "-9223372036854775808");
}

TEST(WholeNumber, IsNeverRoundedNorWrapped) {
  EXPECT_EQ(Whole("8800.5"), "not a whole number");
  EXPECT_EQ(Whole("9223372036854775808"), "more than 64 bits hold");
  EXPECT_EQ(Whole("-9223372036854775809"), "more than 64 bits hold");
  EXPECT_EQ(Whole("1e19"), "more than 64 bits hold");
  EXPECT_EQ(Whole("1e300"), "more than 64 bits hold");
  EXPECT_EQ(Whole(std::string(400, '9')), "more than 64 bits hold");
  EXPECT_EQ(Whole(""), "not a number");
  EXPECT_EQ(Whole("x"), "not a number");
  EXPECT_EQ(Whole("0x10"), "not a number");
}

std::string Float(std::string_view text) {
  float value = 0;
  std::string why;
  return ExactFloat(text, &value, &why) ? FloatText(value, FloatLayout::kPlain) : why;
}
std::string Double(std::string_view text) {
  double value = 0;
  std::string why;
  return ExactDouble(text, &value, &why) ? FloatText(value, FloatLayout::kPlain) : why;
}

TEST(ExactFloat, TakesWhatPrintsAsItselfAgain) {
  EXPECT_EQ(Float("0.00042"), "0.00042");
  EXPECT_EQ(Float("6.1042607E-4"), "0.00061042607");
  EXPECT_EQ(Float("123.456"), "123.456");
  EXPECT_EQ(Float("175.26562"), "175.26562");
  EXPECT_EQ(Float("-3.4028235e+38"), "-3.4028235e+38");
  EXPECT_EQ(Float("3.40282e+38"), "3.40282e+38");
  EXPECT_EQ(Float("1.4e-45"), "1e-45");
  EXPECT_EQ(Float("16777216.0"), "16777216.0");
  EXPECT_EQ(Float("-0.0"), "-0.0");
  EXPECT_EQ(Float("0.1000000014901161193847656250"), "0.1");  // the exact value of the float next to 0.1
  EXPECT_EQ(Float("NaN"), "NaN");
  EXPECT_EQ(Float("-Infinity"), "-Infinity");
}

TEST(ExactFloat, RefusesDigitsThatWouldBeLost) {
  EXPECT_EQ(Float("2.718281828459045"), "more digits than FLOAT holds");
  EXPECT_EQ(Float("0.123456789"), "more digits than FLOAT holds");
  EXPECT_EQ(Float("16777217"), "more digits than FLOAT holds");
  EXPECT_EQ(Float("1e39"), "outside the range of FLOAT");
  EXPECT_EQ(Float("1e-60"), "outside the range of FLOAT");
  EXPECT_EQ(Float("inf"), "not a number");
  EXPECT_EQ(Float("0x1p3"), "not a number");
  EXPECT_EQ(Float("1 "), "not a number");
}

TEST(ExactDouble, TakesWhatPrintsAsItselfAgain) {
  EXPECT_EQ(Double("2.718281828459045"), "2.718281828459045");
  EXPECT_EQ(Double("5e-324"), "5e-324");
  EXPECT_EQ(Double("-1.7976931348623157e+308"), "-1.7976931348623157e+308");
  EXPECT_EQ(Double("9007199254740992.0"), "9007199254740992.0");
  EXPECT_EQ(Double("9007199254740993"), "more digits than DOUBLE holds");
  EXPECT_EQ(Double("0.12345678901234567890"), "more digits than DOUBLE holds");
  EXPECT_EQ(Double("1e400"), "outside the range of DOUBLE");
  EXPECT_EQ(Double("1e-400"), "outside the range of DOUBLE");
}

std::string Decimal(std::string_view base64, int32_t bytes_scale, int32_t precision, int32_t scale) {
  std::string bytes;
  EXPECT_TRUE(DecodeBase64(base64, false, &bytes));
  arrow::Decimal128 value;
  std::string why;
  return DecimalFromBytes(bytes, bytes_scale, precision, scale, &value, &why) ? DecimalText(value, scale)
                                                                              : why;
}
std::string DecimalsText(std::string_view base64, int32_t scale) {
  std::string bytes;
  EXPECT_TRUE(DecodeBase64(base64, false, &bytes));
  std::string text;
  std::string why;
  return TextFromDecimalBytes(bytes, scale, &text, &why) ? text : why;
}

TEST(DecimalFromBytes, IsTheUnscaledNumberOfJava) {
  EXPECT_EQ(Decimal("AxY=", 2, 10, 2), "7.90");
  EXPECT_EQ(Decimal("EtaH", 2, 10, 2), "12345.67");
  EXPECT_EQ(Decimal("/av0HAE=", 2, 10, 2), "-99999999.99");
  EXPECT_EQ(Decimal("AA==", 0, 5, 0), "0");
  EXPECT_EQ(Decimal("gA==", 0, 5, 0), "-128");
  EXPECT_EQ(Decimal("/w==", 2, 5, 2), "-0.01");
  EXPECT_EQ(Decimal("tMSzV6V5O4X2dd3AAAAAAQ==", 18, 38, 18), "-99999999999999999999.999999999999999999");
}

TEST(DecimalFromBytes, KeepsEveryDigitAcrossScales) {
  EXPECT_EQ(Decimal("AxY=", 2, 10, 4), "7.9000");
  EXPECT_EQ(Decimal("AxY=", 2, 10, 1), "7.9");
  EXPECT_EQ(Decimal("AxY=", 2, 10, 0), "more digits than DECIMAL(10, 0) holds");
  EXPECT_EQ(Decimal("Aw==", -2, 10, 0), "300");
  EXPECT_EQ(Decimal("AlQL4/8=", 2, 9, 2), "more digits than DECIMAL(9, 2) holds");
  // Leading sign bytes carry nothing.
  EXPECT_EQ(Decimal("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMW", 2, 10, 2), "7.90");
}

TEST(TextFromDecimalBytes, HasAllDigitsOfLongNumbers) {
  EXPECT_EQ(DecimalsText("ATo=", 2), "3.14");
  EXPECT_EQ(DecimalsText("AQ==", 30), "0.000000000000000000000000000001");
  EXPECT_EQ(DecimalsText("/giBGRxTlo/KeaWixz7HOr0lHmfXUcZ+6w==", 9),
            "-12345678901234567890123456789012345678901234567890.123456789");
  EXPECT_EQ(DecimalsText("AA==", 0), "0");
  EXPECT_EQ(DecimalsText("AA==", 2), "0.00");
  EXPECT_EQ(DecimalsText("gA==", 0), "-128");
  EXPECT_EQ(DecimalsText("gAA=", 0), "-32768");
  std::string text;
  std::string why;
  EXPECT_FALSE(TextFromDecimalBytes(std::string(9000, 'x'), 0, &text, &why));
  EXPECT_FALSE(TextFromDecimalBytes("x", 1000000, &text, &why));
  EXPECT_FALSE(TextFromDecimalBytes("", 0, &text, &why));
}

TEST(Base64, IsStrict) {
  std::string out = "kept";
  for (const char* wrong :
       {"A", "AA", "AAA", "A===", "AA=A", "AB==", "AAB=", "AA==AAAA", "A A=", "====", "AA=", "AA-_"}) {
    EXPECT_FALSE(DecodeBase64(wrong, false, &out)) << wrong;
    EXPECT_EQ(out, "kept") << wrong;
  }
  EXPECT_TRUE(DecodeBase64("-_8", true, &out));
  EXPECT_FALSE(DecodeBase64("+/8=", true, &out));
  for (size_t length = 0; length < 20; ++length) {
    const std::string bytes(length, '\xFE');
    std::string back;
    EXPECT_TRUE(DecodeBase64(EncodeBase64(bytes), false, &back));
    EXPECT_EQ(back, bytes);
  }
}

TEST(Hex, IsStrict) {
  std::string out;
  EXPECT_TRUE(DecodeHex("00fF10", &out));
  EXPECT_EQ(out, std::string("\x00\xFF\x10", 3));
  EXPECT_FALSE(DecodeHex("0", &out));
  EXPECT_FALSE(DecodeHex("0g", &out));
  EXPECT_FALSE(DecodeHex("\\x00", &out));
}

}  // namespace
}  // namespace headrace::ingest
