"""``calculate`` reckons exactly, reads what people write, and ends quickly whatever it is given."""

from __future__ import annotations

import time
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolset.contexts import context
from toolset.calculate import Calculate
from toolset.tool import ToolError


async def calculated(expression: str) -> tuple[str, bool]:
    """Result, and whether it is exact."""
    outcome = await Calculate().call({"expression": expression}, context())
    return outcome["result"], outcome["is_exact"]


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("0.1 + 0.2", "0.3"),
        ("1/3 + 1/3 + 1/3", "1"),
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("2 - 3 - 4", "-5"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("10 % 3", "1"),
        ("10 % (2 + 1)", "1"),
        ("2 ** 3 ** 2", "512"),
        ("-2 ** 2", "-4"),
        ("2 ** -2", "0.25"),
        ("2 ^ 10", "1024"),
        ("0 ** 0", "1"),
        ("1 ** (10 ** 300)", "1"),
        ("--5", "5"),
        ("- +5", "-5"),
        (".5 + 5.", "5.5"),
        ("1.5e3", "1500"),
        ("2 ** 100", "1267650600228229401496703205376"),
        ("-" * 498 + "1", "1"),
        ("+".join(["1"] * 250), "250"),
        ("abs(" * 99 + "1" + ")" * 99, "1"),
        ("007 + 1", "8"),
        ("  7  ", "7"),
        ("0 * -1", "0"),
    ],
)
async def test_the_usual_operators_give_exact_results(expression: str, result: str) -> None:
    """Fractions inside, decimals outside."""
    assert await calculated(expression) == (result, True)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("15%", "0.15"),
        ("1280 * 15%", "192"),
        ("100 / 50%", "200"),
        ("(10 + 5)%", "0.15"),
        ("50% + 1", "1.5"),
        ("1000 + 10%", "1100"),
        ("1000 - 1.5 %", "985"),
        ("1000 + 10% * 2", "1000.2"),
        ("1000 + (10%)", "1000.1"),
        ("(1000) + (10)%", "1000.1"),
        ("1000 - -10%", "1000.1"),
        ("100 + 2,000%", "2100"),
    ],
)
async def test_percent_means_what_it_means_on_a_pocket_calculator(
    expression: str, result: str
) -> None:
    """A lone percentage that is added or taken away is one of what stands before it."""
    assert await calculated(expression) == (result, True)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("abs(-3)", "3"),
        ("max(1,200)", "200"),
        ("min(3、１，2)", "1"),
        ("MAX(2, min(9, 8))", "8"),
        ("round(2.5)", "3"),
        ("round(100 / 7, 2)", "14.29"),
        ("round(1234, -2)", "1200"),
        ("sqrt(9)", "3"),
        ("9 ** 0.5", "3"),
        ("max(1, 2) + 1,000", "1002"),
    ],
)
async def test_functions_take_arguments_between_commas(expression: str, result: str) -> None:
    """Between a function's parentheses a comma never groups digits; halves are rounded away from
    zero."""
    assert await calculated(expression) == (result, True)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("１２３＋４５６", "579"),
        ("（２＋３）×４", "20"),
        ("５−３", "2"),
        ("１０００　＊　８％", "80"),
        ("5² + 2³", "33"),
        ("2⁴ + 10¹² + 2⁻¹", "1000000000016.5"),
        ("1,234,567.5 * 2", "2469135"),
        ("3·4⋅5", "60"),
    ],
)
async def test_it_reads_full_width_and_typeset_signs(expression: str, result: str) -> None:
    """As they come from Japanese keyboards and from web pages."""
    assert await calculated(expression) == (result, True)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 / 3", "0.333333333333333"),
        ("sqrt(2)", "1.4142135623731"),
        ("sqrt(2) * sqrt(2)", "2"),
        ("8 ** (1 / 3)", "2"),
        ("sqrt(2) / 10 ** 20", "1.4142135623731e-20"),
        ("2 ** 500", "3.27339060789614e+150"),
        ("1.00123 ** 1000", "3.41864464439508"),
        ("10 ** 20 / 3", "3.33333333333333e+19"),
        ("*".join(["sqrt(2)"] * 60), "1073741824"),
    ],
)
async def test_what_has_no_end_is_rounded_and_says_so(expression: str, result: str) -> None:
    """Fifteen digits, of which the last is right."""
    assert await calculated(expression) == (result, False)


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("1 / 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("1 / (0.1 + 0.2 - 0.3)", "division by zero"),
        ("sqrt(-1)", "no real result: a root of a negative number"),
        ("(-8) ** (1 / 3)", "no real result: a root of a negative number"),
        ("round(1, 0.5)", "round takes a whole number of decimals, at most 100"),
        ("round(1, 101)", "round takes a whole number of decimals, at most 100"),
        ("abs(1, 2)", "wrong number of arguments: abs"),
        ("round(1, 2, 3)", "wrong number of arguments: round"),
        ("factorial(99999)", "unknown name: factorial. Functions: abs, max, min, round, sqrt"),
        ("pi * 2", "unknown name: pi. Functions: abs, max, min, round, sqrt"),
    ],
)
async def test_what_has_no_result_says_why(expression: str, error: str) -> None:
    """In words the model can act on."""
    with pytest.raises(ToolError) as raised:
        await calculated(expression)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("1_000", "_000"),
        ("5!", "!"),
        ("100円", "円"),
        ("1 == 1", "== 1"),
        ("__import__('os')", "__import__('os')"),
        ("[1]", "[1]"),
        ("max(1; 2)", "; 2)"),
    ],
)
async def test_a_sign_that_is_no_arithmetic_is_shown_back(expression: str, error: str) -> None:
    """With what follows it; Python's parser never sees it."""
    with pytest.raises(ToolError) as raised:
        await calculated(expression)
    assert str(raised.value) == f"cannot read the expression at: {error}"


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "",
            "  ",
            "1 +",
            "(1",
            "1)",
            "max(1",
            "max 1",
            "max",
            "3 4",
            "2(3)",
            "1.2.3",
            "()",
            "²",
            "%",
        ),
        *(
            "12,34",
            "1,0000",
            "1,2",
            "max((1, 2))",
            "max(*1)",
            "max(1, **2)",
            "(max)(1)(2)",
            "5 //* 2",
        ),
        "(" * 195 + "1" + ")" * 195 + "+",
    ],
)
async def test_what_is_not_written_as_arithmetic_is_an_error(expression: str) -> None:
    """Also where Python's parser reads a tuple, a name or a star."""
    with pytest.raises(ToolError, match="cannot read the expression"):
        await calculated(expression)


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("9 ** 9 ** 9", "the numbers get too large"),
        ("1.5 ** 99999999999", "the numbers get too large"),
        ("2.5 ** 1000000.5", "the numbers get too large"),
        ("1e999999999", "the numbers get too large"),
        ("1e-99999", "the numbers get too large"),
        ("(10 ** 2000) ** 2", "the numbers get too large"),
        ("2 **" * 100 + "1", "the numbers get too large"),
        ("9" * 240 + "**" + "9" * 240, "the numbers get too large"),
        ("(" * 500, "cannot read the expression"),
        ("1 + " * 125 + "1", "the expression has more than 500 characters"),
    ],
)
async def test_what_would_take_for_ever_is_refused_at_once(expression: str, error: str) -> None:
    """Before it is reckoned, not after."""
    began = time.perf_counter()
    with pytest.raises(ToolError) as raised:
        await calculated(expression)
    assert str(raised.value) == error
    assert time.perf_counter() - began < 1


@settings(deadline=5000)
@given(st.text(alphabet="0123456789.,+-*/%^()eE absmaxinroudqt、×÷０９％²", max_size=500))
async def test_any_string_ends_in_a_result_or_an_error_of_ours(expression: str) -> None:
    """Nothing else escapes, and nothing hangs."""
    with suppress(ToolError):
        result, _ = await calculated(expression)
        assert Decimal(result).is_finite()


@settings(deadline=None)
@given(
    st.fractions(max_denominator=1000), st.fractions(max_denominator=1000), st.sampled_from("+-*")
)
async def test_it_agrees_with_python_on_fractions(
    left: Fraction, right: Fraction, operator: str
) -> None:
    """Whatever the numbers."""
    expected = {"+": left + right, "-": left - right, "*": left * right}[operator]
    difference, _ = await calculated(f"({left}) {operator} ({right}) - ({expected})")
    assert difference == "0"
