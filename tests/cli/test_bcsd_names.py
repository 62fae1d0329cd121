"""Long names of C++: what can be spared goes first, and the function's own name stays."""

import pytest

from weft.cli.bcsd.names import shortened

STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("memcpy", "memcpy"),
        ("Parser::expr()", "Parser::expr()"),
        (f"Cache::get({STRING} const&)", "Cache::get(std::__cxx11::basic_string<…> const&)"),
        (
            f"Bin::eval(std::map<{STRING}, double, std::less<{STRING}>>&, int, unsigned long long) const",
            "Bin::eval(std::map<…>&, int, unsigned long long) const",
        ),
        (
            f"void std::vector<{STRING}>::_M_realloc_insert<{STRING} const&>({STRING}*, {STRING} const&, int)",
            "void std::vector<…>::_M_realloc_insert<…>(…)",
        ),
        (
            f"std::ostream& a_rather_long_namespace::of_the_program::operator<< <char>(std::ostream&, {STRING})",
            "…::operator<< <…>(…)",
        ),
        (
            f"bool a_rather_long_namespace::of_the_program::Handler::operator()({STRING}, {STRING}) const",
            "…::operator()(…) const",
        ),
        (f"my_operator<{STRING}>::run()", "my_operator<…>::run()"),
        ("x" * 80, "x" * 59 + "…"),
    ],
)
def test_what_can_be_spared_goes_first(name, short):
    assert shortened(name, 60) == short


@pytest.mark.parametrize(
    "name", ["a<b::c(d", "operator>", "->", ")(", "<", "a::operator->", "", "f(g(h)) [clone .x]"]
)
@pytest.mark.parametrize("most", [1, 4, 60])
def test_any_text_fits(name, most):
    assert len(shortened(name, most)) <= most
