// What can become of a call that arrives at a preload library.
#pragma once

namespace attune::interposer {

// The outcomes of all interposers; each uses some of them. A call with another outcome than kServed
// goes to the real function untouched.
enum class Outcome {
  kServed,
  kOff,        // Switched off.
  kReentrant,  // From a library that was computing for us, or one that calls itself.
  kEmpty,      // A size is 0 or alpha is 0: no product is left.
  kStrided,    // A vector with an increment other than 1.
  kNotFinite,  // alpha or beta is NaN or infinite: see HasFiniteScalars().
  kInvalid,    // The real function has to say what is wrong.
  kScalars,    // alpha and beta are in the memory of a device.
  kTypes,      // Of operands or of the computation, that no problem of attune has.
  kMath,       // Arithmetic that no problem of attune has.
  kAlgorithm,  // The program names the algorithm.
  kEpilogue,   // What follows the product is none that attune computes.
  kLayout,     // Matrices, batches or scales that no problem of attune has.
  kContext,    // The device's primary context is not the current one.
  kCapture,    // The first call on a device, and its stream is captured.
  kUntuned,    // Nothing is known of this one, and only what is known serves.
  kRefused,    // The run time cannot compute this one.
  kLimited,    // Limits of the process leave too little: threads, memory, open files, stack.
  kFailed,     // There is no run time, or none any more at exit.
  kForked,     // After fork() in the child of a process that has a run time.
};
inline constexpr int kOutcomes = 20;

// As a summary counts them: "empty".
const char* Name(Outcome outcome);

}  // namespace attune::interposer
