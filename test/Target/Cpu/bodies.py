"""Bodies of kernels that tests and benchmarks share, as text."""

POSITIONS = '''%ki = kernel.index "k"
  %qi = kernel.index "q + kn - qn"
  %ninf = arith.constant 0xFF800000 : f32
  %causal = arith.cmpi sle, %ki, %qi : i64\n'''


def regions(window):
    """What a score region computes of the scaled score %t, by the kind of mask."""
    return {
        'dense': 'kernel.yield %t : f32',
        'causal': POSITIONS + '%x = arith.select %causal, %t, %ninf : f32\n kernel.yield %x : f32',
        'window': POSITIONS + f'''%w = arith.constant {window} : i64
  %end = arith.addi %ki, %w : i64
  %near = arith.cmpi sgt, %end, %qi : i64
  %both = arith.andi %causal, %near : i1
  %x = arith.select %both, %t, %ninf : f32
  kernel.yield %x : f32''',
        'biased': POSITIONS + '''%one = arith.constant 1.0 : f32
  %u = arith.mulf %t, %t : f32
  %v = arith.addf %u, %one : f32
  %w = arith.divf %t, %v : f32
  %slope = kernel.load %in3["h"] : !kernel.ref<f32> -> f32
  %d = arith.subi %ki, %qi : i64
  %df = arith.sitofp %d : i64 to f32
  %bias = arith.mulf %slope, %df : f32
  %s1 = arith.addf %w, %bias : f32
  %x = arith.select %causal, %s1, %ninf : f32
  kernel.yield %x : f32''',
        'added': '''%a = kernel.load %in3["k + kn*q"] : !kernel.ref<f32> -> f32
  %x = arith.addf %t, %a : f32
  kernel.yield %x : f32''',
        'boolean': '''%a = kernel.load %in3["k + kn*q"] : !kernel.ref<i1> -> i1
  %ninf = arith.constant 0xFF800000 : f32
  %x = arith.select %a, %t, %ninf : f32
  kernel.yield %x : f32''',
        'keys': '''%a = kernel.load %in3["k"] : !kernel.ref<f32> -> f32
  %x = arith.addf %t, %a : f32
  kernel.yield %x : f32''',
    }


def attention(depth, width, region, offsets, scale, zero_masked=False):
    """`region`: one of regions(). `offsets`: those of q, k, v and out, the other axes, and the name of the query's, if there is one."""
    zero = ' {zero_masked}' if zero_masked else ''
    r = '!kernel.ref<f32>'
    return f'''attention @x axes({offsets["axes"]}, e = "{width}", k = "kn", d = "{depth}") {{
  %r = kernel.attention %in0["{offsets["q"]}"], %in1["{offsets["k"]}"], %in2["{offsets["v"]}"]
      query "{offsets["query"]}" key "k" depth "d" value "e"{zero} : ({r}, {r}, {r}) -> f32 {{
  ^bb0(%s: f32):
  %c = arith.constant {scale:.9e} : f32
  %t = arith.mulf %s, %c : f32
  {region}
  }}
  kernel.store %r, %out0["{offsets["out"]}"] : f32, {r} }}'''


def padded_load(name, c, h, w, stride, pad):
    """Loads %name, an element of an image [b, c, h, w] under a window's place (u, v) at (y, x); %f0 outside."""
    offset = f'{c*h*w}*b + {h*w}*c + {w}*({stride}*y + u - {pad}) + {stride}*x + v - {pad}'
    if not pad:
        return f'%{name} = kernel.load %in0["{offset}"] : !kernel.ref<f32> -> f32'
    bounds = '\n'.join(f'''%p{i} = kernel.index "{stride}*{a} + {b} - {pad}"
      %lo{i} = arith.cmpi sge, %p{i}, %zero : i64
      %n{i} = arith.constant {n} : i64
      %hi{i} = arith.cmpi slt, %p{i}, %n{i} : i64
      %in_{i} = arith.andi %lo{i}, %hi{i} : i1''' for i, (a, b, n) in enumerate((('y', 'u', h), ('x', 'v', w))))
    return f'''%zero = arith.constant 0 : i64
      {bounds}
      %inside = arith.andi %in_0, %in_1 : i1
      %{name} = kernel.load %in0["{offset}"] if %inside else %f0 : !kernel.ref<f32> else f32 -> f32'''
