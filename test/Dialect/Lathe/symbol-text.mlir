// RUN: lathe-opt %s -split-input-file -verify-diagnostics

// Sizes are declared by their text: what is no identifier, or looks like an axis, in quotes.

lathe.symbol "batch" range [1, -1]
lathe.symbol "'i0'" range [1, -1]
lathe.symbol "'$7'" range [1, -1]
lathe.symbol "'a b'" range [1, -1]
lathe.symbol "k[0]" range [1, -1] element [0, 0]
lathe.symbol "'it''s'[]" range [1, -1] element [0, 0]
func.func @main(%x: tensor<?x?xf32, #lathe.dims<"'i0'", "2*batch*'$7'">>) {
  return
}

// -----

// expected-error@+1 {{'a b' is not the text of a size or of an element of a tensor}}
lathe.symbol "a b" range [1, -1]

// -----

// expected-error@+1 {{'i0' is not the text of a size or of an element of a tensor}}
lathe.symbol "i0" range [1, -1]

// -----

// expected-error@+1 {{'$batch' is not the text of a size or of an element of a tensor}}
lathe.symbol "$batch" range [1, -1]

// -----

// expected-error@+1 {{''batch'' is not the text of a size or of an element of a tensor}}
lathe.symbol "'batch'" range [1, -1]

// -----

// expected-error@+1 {{'2*n + ': column 7 of '2*n + ': expected a number, a name or '('}}
lathe.symbol "m" range [1, -1] is "2*n + "
