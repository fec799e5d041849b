"""Functions of each element, comparisons, conversions."""
import torch

from .generate import operator

FUNCTIONS = """abs neg relu sigmoid tanh exp sin cos tan atan asinh sinh cosh erf erfc expm1 square sign floor ceil trunc round frac
 rad2deg deg2rad positive sgn logsigmoid softplus_ gelu silu selu celu elu mish hardswish hardsigmoid hardtanh relu6 leaky_relu softsign
 tanhshrink softshrink hardshrink""".split()
OF_POSITIVE = "sqrt rsqrt log log2 log10 log1p reciprocal lgamma digamma".split()
OF_UNIT = "asin acos atanh erfinv logit".split()
NAMED = {"gelu": "F.gelu({x}, approximate='tanh')", "softplus_": "F.softplus({x})", "logsigmoid": "F.logsigmoid({x})"}
IN_F = set("silu selu celu elu mish hardswish hardsigmoid hardtanh relu6 leaky_relu softsign tanhshrink softshrink hardshrink".split())
TYPES = [torch.float32, torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]


@operator("elementwise")
def function(g):
    x, name = g.float(), g.of(*FUNCTIONS)
    if name in NAMED and g.chance(0.7):
        return NAMED[name].format(x=x)
    return f"F.{name.strip('_')}({x})" if name in IN_F or name in NAMED else f"torch.{name}({x})"


@operator("elementwise")
def of_positive(g):
    x = g.float()
    return f"torch.{g.of(*OF_POSITIVE)}({x}{g.of('.abs() + 0.5', '.square() + 1', '.exp()')})"


@operator("elementwise")
def of_unit(g):
    x, name = g.float(), g.of(*OF_UNIT)
    inner = f"torch.sigmoid({x})" if name == "logit" else f"torch.tanh({x}) * 0.9"
    return f"torch.{name}({inner})"


@operator("elementwise")
def with_another(g):
    x = g.float()
    return f"{x} {g.of('+', '-', '*', '*', '+')} {g.other(x, 'any')}"


@operator("elementwise")
def with_alpha(g):
    x = g.number()
    return f"torch.{g.of('add', 'sub', 'rsub')}({x}, {g.other(x, 'any')}, alpha={g.scalar(integral=not x.is_floating_point())})"


@operator("elementwise")
def divided(g):
    x = g.number()
    y = g.other(x)
    mode = g.of("", "", ", rounding_mode='floor'", ", rounding_mode='trunc'")
    return f"torch.div({x}, {y}.abs() + {g.of('0.7', '1', '2')}{mode})"


@operator("elementwise")
def by_scalar(g):
    x = g.number()
    return g.of("{x} * {s}", "{x} + {s}", "{s} - {x}", "{x} / {s}", "{x} ** 2", "{x} // {s}", "{x} % 3", "torch.pow({x}, 3)",
                "torch.remainder({x}, {s})", "torch.fmod({x}, {s})", "torch.pow(2, {x}.clamp(-5, 5))").format(x=x, s=g.scalar(integral=g.chance(0.4)))


@operator("elementwise")
def extremes(g):
    x = g.number()
    low, high = sorted((g.rng.randint(-2, 2), g.rng.randint(0, 3)))
    return g.of(f"torch.maximum({x}, {g.other(x, 'any')})", f"torch.minimum({x}, {g.other(x, 'any')})", f"{x}.clamp({low}, {high})",
                f"{x}.clamp(min={low})", f"{x}.clip(max={high}.5)", f"torch.fmax({x}, {g.other(x)})", f"{x}.clamp({g.other(x)}, None)")


@operator("elementwise")
def several(g):
    x = g.float()
    a, b = g.other(x), g.other(x)
    return g.of(f"torch.addcmul({x}, {a}, {b}, value={g.scalar()})", f"torch.lerp({x}, {a}, {g.of('0.25', '0.75')})",
                f"torch.lerp({x}, {a}, {b}.sigmoid())", f"torch.atan2({x}, {a}.abs() + 0.5)", f"torch.hypot({x}, {a})", f"torch.copysign({x}, {a})",
                f"torch.addcdiv({x}, {a}, {b}.square() + 1)", f"F.prelu({x}, torch.tensor(0.3, dtype={x.dtype}))", f"torch.logaddexp({x}, {a})",
                f"torch.xlogy({x}, {a}.abs() + 0.5)", f"F.threshold({x}, 0.1, -2)", f"torch.nan_to_num({x} / {a})", f"torch.heaviside({x}, {a}.to({x.dtype}))")


@operator("elementwise")
def missing(g):
    x = g.float()
    return g.of("torch.nan_to_num({x}.log(), nan={s}, neginf=-3.)", "torch.isnan({x}.sqrt())", "torch.where({x}.log().isnan(), {x}, 2.)", "torch.isfinite(1 / {x}.floor())",
                "torch.isinf(1 / {x}.relu())", "{x}.sqrt().nansum({d})", "torch.nanmean({x}.log(), {d})").format(x=x, s=g.scalar(), d=g.axis(x) if x.ndim else "()")


@operator("types")
def convert(g):
    x, dtype = g.any(), g.of(*TYPES)
    return g.of(f"{x}.to({dtype})", f"{x}.type({dtype})", f"{x}.to({dtype}, copy=True)")


@operator("types")
def mixed(g):
    """Of two types, with and without dimensions."""
    x = g.any()
    y = g.any() if g.chance(0.3) else g.other(x, "any")
    return g.of("{x} + {y}", "{x} * {y}", "torch.maximum({x}, {y})", "torch.where({x} > {s}, {x}, {y})", "{x} + {y}.sum()", "{x} * {y}.to(torch.float64).mean()",
                "torch.cat([{x}.flatten(), {y}.flatten()])", "torch.stack([{x}.max(), {y}.max()])", "torch.add({y}, {x}.sum())").format(x=x, y=y, s=g.scalar())


@operator("types")
def sums(g):
    x = g.any()
    return g.of(f"{x}.sum()", f"{x}.prod()" if x.numel() < 12 else f"{x}.sum(0)", f"{x}.sum(dtype={g.of(*TYPES[:7])})", f"{x}.float().mean(dtype=torch.float64)",
                f"{x} + {g.scalar()}", f"{x} * {g.scalar(integral=True)}", f"torch.true_divide({x}, 2)", f"{x}.any()", f"{x}.all()", f"{x}.count_nonzero()")


@operator("types")
def integers(g):
    x = g.integer()
    y = g.other(x, x.dtype)
    return g.of("{x} & {y}", "{x} | {y}", "{x} ^ {y}", "~{x}", "{x} << 1", "{x} >> 1", "torch.gcd({x}, {y})", "{x} // ({y} * {y} + 1)", "{x} % ({y} * {y} + 2)", "{x} - {y}", "{x} * {y}",
                "torch.bitwise_left_shift({x}, 2)", "{x}.abs()", "torch.sign({x})", "-{x}", "torch.floor_divide({x}, 3)", "torch.fmod({x}, 3)", "{x} / 3", "torch.square({x})",
                "torch.lcm({x}.clamp(0, 5), {y}.clamp(0, 7))", "torch.div({x}, {y} * {y} + 1, rounding_mode='trunc')", "{x} ** 2").format(x=x, y=y)


@operator("comparisons")
def compared(g):
    x = g.any()
    y = g.of(g.scalar(), g.other(x, "any"), g.scalar(integral=True))
    return f"{x} {g.of('<', '<=', '>', '>=', '==', '!=')} {y}"


@operator("comparisons")
def logical(g):
    x, y = g.any(), None
    y = g.other(x, "any")
    return g.of("torch.logical_and({x}, {y})", "torch.logical_or({x}, {y} > 0)", "torch.logical_not({x})", "torch.logical_xor({x}, {y})", "({x} > 0) & ({y} < 1)", "({x} > 0) | ({y} < 0)",
                "({x} >= 0) ^ ({y} >= 0)", "~({x} > 0)", "torch.isclose({x}.float(), {y}.float())", "torch.signbit({x})", "torch.isin({x}, torch.tensor([0, 1, 2]))").format(x=x, y=y)


@operator("comparisons")
def chosen(g):
    x = g.any()
    y = g.other(x, "any")
    m = g.other(x, torch.bool)
    return g.of("torch.where({m}, {x}, {y})", "torch.where({x} > {y}, {x}, {s})", "torch.where({m}, {s}, {x})", "torch.where({x} > 0, {m}, ~{m})", "{x}.masked_fill({m}, {i})",
                "torch.where({m}, 1, 0)", "torch.where({m}, 1.5, {y})", "{x} * {m}", "{x} + ({y} > 0)", "torch.where({x} != 0, {x}, {y}).to({x}.dtype)").format(x=x, y=y, m=m, s=g.scalar(), i=g.scalar(integral=True))
