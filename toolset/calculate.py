"""``calculate``: exact arithmetic on an expression, by a small parser of its own; nothing is ever
evaluated as code."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from operator import floordiv, mod, mul, truediv
from typing import Any, ClassVar

import httpx
from pydantic import BaseModel

from toolset.titles import Words
from toolset.tool import NoConfig, Risk, ToolContext, ToolError

BITS = 8192  # of a numerator or denominator: about 2,400 digits
DEPTH = 40  # parentheses, functions and powers inside each other
EXPONENT = 10**9
WORKING, EXACT, ROUNDED = (
    60,
    100,
    15,
)  # digits: of intermediate roots, of exact results, of rounded results

GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?")
PLAIN = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?")
PERCENTAGE = re.compile(rf"\s*(?:{GROUPED.pattern}|{PLAIN.pattern})\s*%\s*")
PERCENT_SIGN = re.compile(
    r"\s*%(?!\s*[\d.(a-z])"
)  # no operand follows: 15%, 50% + 1; else % is a remainder
NAME = re.compile(r"[a-z]+")
SPACE = re.compile(r"\s*")

FULL_WIDTH = {0xFF01 + offset: chr(0x21 + offset) for offset in range(94)}
SIGNS = {
    "×": "*",
    "⋅": "*",
    "·": "*",
    "÷": "/",
    "−": "-",
    "–": "-",
    "、": ",",
    "²": "**2",
    "³": "**3",
}
TO_ASCII = FULL_WIDTH | str.maketrans(SIGNS)

PRODUCTS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "*": mul,
    "/": truediv,
    "//": floordiv,
    "%": mod,
}
FUNCTIONS = ("abs", "max", "min", "round", "sqrt")


class Calculate:
    """Calculates with fractions, so that 0.1 + 0.2 is 0.3."""

    name: ClassVar[str] = "calculate"
    description: ClassVar[str] = (
        "Exact arithmetic. Use it for every calculation beyond the trivial: prices, tax, shares, "
        "percentages. 1000 + 10% is 1100."
    )
    risk: ClassVar[Risk] = "low"
    titles: ClassVar[Words] = {"en": "Calculator", "ja": "計算"}
    commands: ClassVar[tuple[str, ...]] = ("calculate", "計算")
    Config: ClassVar[type[BaseModel]] = NoConfig

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: NoConfig) -> Calculate:
        """Uses neither argument."""
        return cls()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Work out ``expression``.

        Raises:
            ToolError: the expression cannot be parsed, has no result, or gets too large.
        """
        parser = _Parser(arguments["expression"].translate(TO_ASCII).casefold())
        return _written(parser.result(), parser.is_exact)


class _Parser:
    """Recursive descent, one method per level of precedence; evaluates while it parses.

    Attributes:
        is_exact: False once a root or power had to be rounded.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._in_arguments = False
        self.is_exact = True

    def result(self) -> Fraction:
        value = self._sum()
        if self._at < len(self._text):
            raise self._unreadable()
        return value

    def _sum(self) -> Fraction:
        value = self._product()
        while operator := self._take("+", "-"):
            start = self._at
            change = self._product()
            if PERCENTAGE.fullmatch(self._text, start, self._at):
                change *= value
            value = self._fit(value + change if operator == "+" else value - change)
        return value

    def _product(self) -> Fraction:
        value = self._signed()
        while operator := self._take("//", "*", "/", "%"):
            other = self._signed()
            if other == 0 and operator != "*":
                raise ToolError("division by zero")
            value = self._fit(Fraction(PRODUCTS[operator](value, other)))
        return value

    def _signed(self) -> Fraction:
        sign = 1
        while operator := self._take("+", "-"):
            sign = -sign if operator == "-" else sign
        return sign * self._power()

    def _power(self) -> Fraction:
        base = self._percent()
        if not self._take("**", "^"):
            return base
        return self._raised(base, self._nested(self._signed))

    def _percent(self) -> Fraction:
        value = self._operand()
        while self._match(PERCENT_SIGN):
            value /= 100
        return value

    def _operand(self) -> Fraction:
        if self._take("("):
            value = self._nested(self._sum)
            self._expect(")")
            return value
        if name := self._match(NAME):
            return self._function(name)
        number = (not self._in_arguments and self._match(GROUPED)) or self._match(PLAIN)
        if not number:
            raise self._unreadable()
        if abs(int(number.partition("e")[2] or 0)) > BITS:
            raise ToolError("the numbers get too large")
        return self._fit(Fraction(Decimal(number.replace(",", ""))))

    def _function(self, name: str) -> Fraction:
        if name not in FUNCTIONS:
            raise ToolError(f"unknown name: {name}. Functions: {', '.join(FUNCTIONS)}")
        match name, self._arguments():
            case "abs", [value]:
                return abs(value)
            case "max", [*values]:
                return max(values)
            case "min", [*values]:
                return min(values)
            case "round", [value]:
                return _rounded(value, Fraction(0))
            case "round", [value, places]:
                return self._fit(_rounded(value, places))
            case "sqrt", [value]:
                return self._raised(value, Fraction(1, 2))
        raise ToolError(f"wrong number of arguments: {name}")

    def _arguments(self) -> list[Fraction]:
        """Inside, a comma separates arguments; elsewhere it groups digits."""
        outside, self._in_arguments = self._in_arguments, True
        self._expect("(")
        values = [self._nested(self._sum)]
        while self._take(","):
            values.append(self._nested(self._sum))
        self._expect(")")
        self._in_arguments = outside
        return values

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
            raise ToolError("the numbers get too large")
        self.is_exact = False
        return self._fit(Fraction(Context(prec=WORKING).power(_decimal(base), _decimal(exponent))))

    def _fit(self, value: Fraction) -> Fraction:
        if not self.is_exact:
            value = Fraction(_decimal(value))
        if _bits(value) > BITS:
            raise ToolError("the numbers get too large")
        return value

    def _nested(self, read: Callable[[], Fraction]) -> Fraction:
        self._depth += 1
        if self._depth > DEPTH:
            raise ToolError("the expression is nested too deeply")
        value = read()
        self._depth -= 1
        return value

    def _take(self, *operators: str) -> str:
        """Consume the first of these operators that comes next; empty where none does."""
        self._match(SPACE)
        found = next(
            (operator for operator in operators if self._text.startswith(operator, self._at)), ""
        )
        self._at += len(found)
        return found

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._unreadable()

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found.group() if found else ""

    def _unreadable(self) -> ToolError:
        rest = self._text[self._at :].strip()
        return ToolError(
            f"cannot read the expression at: {rest[:40]}"
            if rest
            else "the expression ends too early"
        )


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
