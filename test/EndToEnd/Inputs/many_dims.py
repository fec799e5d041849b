"""A model in text form whose tensor has so many open dimensions. usage: many_dims.py N"""
import sys

dims = " ".join('dim { dim_param: "d%d" }' % i for i in range(int(sys.argv[1])))
print("""ir_version: 8
opset_import { domain: "" version: 17 }
graph {
  name: "g"
  node { input: "x" output: "y" op_type: "Neg" }
  input { name: "x" type { tensor_type { elem_type: 1 shape { %s } } } }
  output { name: "y" type { tensor_type { elem_type: 1 } } }
}""" % dims)
