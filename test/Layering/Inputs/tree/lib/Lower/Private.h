//===- Private.h - A header that another folder reaches for ----------------===//
