"""``calculate``: exact arithmetic. Python's parser reads the expression; nothing is run as code."""

from __future__ import annotations

import ast
import math
import re
import unicodedata
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from operator import add, floordiv, mod, mul, sub, truediv
from typing import Any

from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError

LENGTH = 500  # characters, which bounds parentheses and operations inside each other too
BITS = 8192  # of a numerator or denominator: about 2,400 digits
EXPONENT = 10**9
# Digits: of intermediate roots, of exact results, of rounded results.
WORKING, EXACT, ROUNDED = 60, 100, 15

SIGNS = str.maketrans("×⋅·÷−–、", "***/--,")
SUPERSCRIPT = re.compile("⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")

# A % is a percentage where no operand follows, as in 15% or 50% + 1; else it is a remainder.
TOKEN = re.compile(
    r"(?P<number>(?:\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
    r"|(?P<name>[a-z]+)|(?P<percent>%(?!\s*[\d.(a-z]))|(?P<sign>[-+*/%^(),\s])|.",
    re.ASCII,
)
# A percent sign in Python: a subscript, too, stands behind its operand and binds before all else.
PERCENT = "[0]"

OPERATIONS = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: truediv,
    ast.FloorDiv: floordiv,
    ast.Mod: mod,
}
FUNCTIONS = ("abs", "max", "min", "round", "sqrt")
TOO_LARGE = "the numbers get too large"
UNREADABLE = "cannot read the expression"


class Calculate(Tool):
    """Calculates with fractions, so that 0.1 + 0.2 is 0.3."""

    name = "calculate"
    description = (
        "Exact arithmetic. Use it for every calculation beyond the trivial: prices, tax, shares, "
        "percentages. 1000 + 10% is 1100."
    )
    risk = "low"
    titles = words(en="Calculator", ja="計算")
    commands = ("calculate", "計算")

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Work out ``expression``.

        Raises:
            ToolError: the expression cannot be parsed, has no result, or gets too large.
        """
        calculation = _Calculation(arguments["expression"])
        value = calculation.result()
        return _written(value, calculation.is_exact)


class _Calculation:
    """One expression: written as Python has it, parsed, and worked out.

    In the Python source each number is its place in a list, so that Python makes no float of it.

    Attributes:
        is_exact: False once a root or power had to be rounded.
    """

    def __init__(self, expression: str) -> None:
        self.is_exact = True
        self._text = " ".join(_in_ascii(expression).split())
        self._source = ""
        self._numbers: list[Fraction] = []
        # For each open parenthesis, whether arguments of a function are in it.
        self._opened: list[bool] = []

    def result(self) -> Fraction:
        if len(self._text) > LENGTH:
            raise ToolError(f"the expression has more than {LENGTH} characters")
        self._source = TOKEN.sub(self._in_python, self._text).strip()
        try:
            tree = ast.parse(self._source, mode="eval")
        except (SyntaxError, MemoryError):  # the latter for more parentheses than it can take
            raise ToolError(UNREADABLE) from None
        return self._value(tree.body)

    def _in_python(self, token: re.Match[str]) -> str:
        """A piece of the Python source. What is no arithmetic never gets into it."""
        in_arguments = self._opened[-1:] == [True]
        if number := token["number"]:
            # Among the arguments of a function a comma groups no digits.
            numbers = number.split(",") if in_arguments else [number.replace(",", "")]
            return ",".join(map(self._place_of, numbers))
        if name := token["name"]:
            if name not in FUNCTIONS:
                raise ToolError(f"unknown name: {name}. Functions: {', '.join(FUNCTIONS)}")
            return name
        if token["percent"]:
            return PERCENT
        if not token["sign"]:
            raise ToolError(f"{UNREADABLE} at: {self._text[token.start() :][:40]}")
        if token["sign"] == "(":
            before = self._text[: token.start()].rstrip()
            self._opened.append(in_arguments or before.endswith(FUNCTIONS))
        elif token["sign"] == ")":
            del self._opened[-1:]
        return token["sign"].replace("^", "**")

    def _place_of(self, number: str) -> str:
        if abs(int(number.partition("e")[2] or 0)) > BITS:
            raise ToolError(TOO_LARGE)
        self._numbers.append(self._fit(Fraction(Decimal(number))))
        return f" {len(self._numbers) - 1} "

    def _value(self, node: ast.expr) -> Fraction:
        """The value of a node, which must be one of arithmetic."""
        match node:
            case ast.Constant(value=int(place)):
                return self._numbers[place]
            case ast.Subscript(value=operand):
                return self._value(operand) / 100
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._value(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._value(operand)
            case ast.BinOp(op=ast.Pow()):
                return self._raised(self._value(node.left), self._value(node.right))
            case ast.BinOp():
                return self._combined(node)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._applied(name, [self._value(argument) for argument in arguments])
        raise ToolError(UNREADABLE)

    def _combined(self, node: ast.BinOp) -> Fraction:
        left, right = self._value(node.left), self._value(node.right)
        if isinstance(node.op, ast.Add | ast.Sub) and self._is_percentage(node.right):
            right *= left
        try:
            return self._fit(Fraction(OPERATIONS[type(node.op)](left, right)))
        except ZeroDivisionError:
            raise ToolError("division by zero") from None

    def _is_percentage(self, node: ast.expr) -> bool:
        """Whether it is a number and one percent sign, without parentheses."""
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Constant)):
            return False
        return not self._source[: node.value.col_offset].rstrip().endswith("(")

    def _applied(self, name: str, values: list[Fraction]) -> Fraction:
        match name, values:
            case "abs", [value]:
                return abs(value)
            case "max", [_, *_]:
                return max(values)
            case "min", [_, *_]:
                return min(values)
            case "round", [value]:
                return _rounded(value, Fraction(0))
            case "round", [value, places]:
                return self._fit(_rounded(value, places))
            case "sqrt", [value]:
                return self._raised(value, Fraction(1, 2))
        raise ToolError(f"wrong number of arguments: {name}")

    def _raised(self, base: Fraction, exponent: Fraction) -> Fraction:
        is_whole = exponent.denominator == 1
        if base == 0 and exponent < 0:
            raise ToolError("division by zero")
        if base < 0 and not is_whole:
            raise ToolError("no real result: a root of a negative number")
        if is_whole and (abs(base) in (0, 1) or (_bits(base) - 1) * abs(exponent) < BITS):
            return self._fit(base ** int(exponent))
        if base == 0:
            return base
        if exponent == Fraction(1, 2) and (root := _root(base)) is not None:
            return root
        if abs(exponent) > EXPONENT or abs(exponent * Fraction(_log2(base))) > BITS:
            raise ToolError(TOO_LARGE)
        self.is_exact = False
        return self._fit(Fraction(Context(prec=WORKING).power(_decimal(base), _decimal(exponent))))

    def _fit(self, value: Fraction) -> Fraction:
        if not self.is_exact:
            value = Fraction(_decimal(value))
        if _bits(value) > BITS:
            raise ToolError(TOO_LARGE)
        return value


def _in_ascii(expression: str) -> str:
    """The expression with the signs of Python in place of typeset and full-width ones."""
    # Normalized, a superscript is a plain digit: 2⁴ would be 24.
    powers = SUPERSCRIPT.sub(r"**\g<0>", expression)
    return unicodedata.normalize("NFKC", powers).translate(SIGNS).casefold()


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _log2(value: Fraction) -> float:
    return math.log2(abs(value.numerator)) - math.log2(value.denominator)


def _root(value: Fraction) -> Fraction | None:
    """The square root if it is rational."""
    root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    return root if root * root == value else None


def _rounded(value: Fraction, places: Fraction) -> Fraction:
    """Half away from zero, as taught at school."""
    if places.denominator != 1 or abs(places) > EXACT:
        raise ToolError(f"round takes a whole number of decimals, at most {EXACT}")
    scale = Fraction(10) ** int(places)
    rounded = math.floor(abs(value) * scale + Fraction(1, 2)) / scale
    return rounded if value >= 0 else -rounded


def _decimal(value: Fraction, context: Context | None = None) -> Decimal:
    return (context or Context(prec=WORKING)).divide(
        Decimal(value.numerator), Decimal(value.denominator)
    )


def _written(value: Fraction, is_exact: bool) -> dict[str, Any]:
    context = Context(prec=EXACT)
    number = _decimal(value, context)
    if not is_exact or context.flags[Inexact]:
        is_exact, context = False, Context(prec=ROUNDED)
        number = _decimal(value, context)
    number = context.normalize(number)
    is_short = -ROUNDED <= number.adjusted() < context.prec
    return {"result": f"{number:f}" if is_short else f"{number:e}", "is_exact": is_exact}
