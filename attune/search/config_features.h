// The numbers that models compute with for a config.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/search/config_digits.h"

namespace attune {

// Features of a config for trees, one byte each, in which only the order counts:
//   - the rank of each parameter's value: numbers by size, words in the order of the author;
// - for integers, which power of two divides the value, unless that equals the rank;
//   - for parameters of three or four values, whether it is this one, because words and the numbers
//     of variants have no order;
//   - for each pair of parameters with positive numbers, the product: tile sizes times block sizes
//     are what occupancy and traffic depend on.
// They are in this order of kinds within a parameter, and parameters of few values come first:
// trees prefer earlier features of equal use, and a difference of variants explains more than one
// of sizes.
class ConfigFeatures {
 public:
  static constexpr size_t kMostFeatures = 256;

  explicit ConfigFeatures(const ConfigDigits& digits);

  size_t size() const { return singles_.size() + pairs_.size(); }
  void Write(const Digits& digits, std::vector<uint8_t>& features) const;

 private:
  struct Single {
    size_t choice = 0;
    std::vector<uint8_t> of_digit;
  };
  struct Pair {
    size_t first = 0;
    size_t second = 0;
    float low = 0;    // Minimum sum of logarithms.
    float scale = 0;  // Bytes for each unit of it.
  };

  void AddSingle(size_t choice, const std::vector<double>& of_digit);
  void AddChoice(const ConfigDigits& digits, size_t choice);
  void AddPair(size_t first, size_t second);

  std::vector<Single> singles_;
  std::vector<Pair> pairs_;
  std::vector<std::vector<float>> logarithms_;  // By choice; empty if it has none.
};

// A config as bytes, one for each parameter with a choice, whose differences are distances: numbers
// by size, positive ones by their logarithm, words in the order of the author. The whole range of a
// parameter is 255.
class ConfigLevels {
 public:
  explicit ConfigLevels(const ConfigDigits& digits);

  size_t size() const { return of_digit_.size(); }
  // The distance of neighbouring values of a parameter, from 0 to 1 for the whole range. It is
  // larger for parameters of few values: they distinguish variants more often than sizes.
  float jump(size_t choice) const { return jumps_[choice]; }
  void Write(const Digits& digits, std::vector<uint8_t>& levels) const;

 private:
  std::vector<std::vector<uint8_t>> of_digit_;
  std::vector<float> jumps_;
};

}  // namespace attune
