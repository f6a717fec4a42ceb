"""Load, check and match the data under rules/."""

from hipport.rulebook.book import EMPTY, Rulebook, load_rulebook
from hipport.rulebook.records import PREDICATES, Example, Explanation, Row, Rule

__all__ = ["EMPTY", "PREDICATES", "Example", "Explanation", "Row", "Rule", "Rulebook", "load_rulebook"]
