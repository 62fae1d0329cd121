"""Short forms as people type them on a phone, as words: "gr8 staff tho u w8 4ever"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.absa.represent.slips import Slip

_FORMS = {
    "you": "u",
    "your": "ur",
    "yours": "urs",
    "yourself": "urself",
    "with": "w/ wiv wid",
    "without": "w/o w/out",
    "because": "b/c bc bcz bcos bcoz bcuz becos becoz becuz cuz coz",
    "though": "tho",
    "although": "altho",
    "through": "thru",
    "before": "b4",
    "great": "gr8 gr8t grt",
    "late": "l8",
    "later": "l8r",
    "mate": "m8",
    "hate": "h8",
    "hated": "h8d h8ed",
    "wait": "w8",
    "waited": "w8ed w8d",
    "waiting": "w8ing w8in",
    "straight": "str8",
    "today": "2day",
    "tonight": "2nite 2night tonite",
    "tomorrow": "2moro 2morrow tmrw tmw tmoz",
    "yesterday": "yday",
    "forever": "4ever 4eva",
    "someone": "sum1 some1",
    "something": "sumthin sumthing sumtin smth smthn",
    "anyone": "any1",
    "everyone": "every1 evry1",
    "everything": "everythin evrything evrythin",
    "nothing": "nothin nuthin nuffin nuttin",
    "thanks": "thx thnx thanx tnx tks thks",
    "thank you": "ty tysm",
    "please": "pls plz",
    "people": "ppl peeps",
    "really": "rly rlly rlyy",
    "seriously": "srsly",
    "probably": "prolly prbly probly prolli",
    "definitely": "def deffo defo deff",
    "obviously": "obv obvs",
    "especially": "esp espesh",
    "about": "abt",
    "average": "avg",
    "much": "mch",
    "excellent": "xlnt xcellent",
    "explained": "xplained",
    "explains": "xplains",
    "nightmare": "nitemare",
    "think": "thnk",
    "every": "evry",
    "very": "vry",
    "cannot": "cnt",
    "rooms": "rms",
    "already": "alrdy alredy",
    "easy": "ez",
    "from": "frm",
    "phones": "fones",
    "phone": "fone",
    "works": "wrks",
    "work": "wrk",
    "but": "bt",
    "what": "wat wot wut wht",
    "whatever": "whatevs whatevr watever",
    "that": "tht",
    "there": "dere",
    "was": "woz wuz",
    "would": "wud wld",
    "could": "cud cld",
    "should": "shud shld",
    "have": "hav hv",
    "just": "jus jst",
    "like": "lyk",
    "know": "kno",
    "good": "gd gud",
    "love": "luv lurv",
    "loved": "luvd luved",
    "loves": "luvs",
    "loving": "lovin luvin",
    "lovely": "luvly luvely",
    "night": "nite",
    "right": "rite",
    "awesome": "awsm awsum",
    "delicious": "delish",
    "favourite": "fav fave",
    "favourites": "favs faves",
    "ridiculous": "ridic",
    "appointment": "appt apptmt",
    "appointments": "appts",
    "manager": "mgr mngr",
    "management": "mgmt mgt mngmt",
    "customer": "custmr",
    "service": "svc srvc",
    "restaurant": "resto",
    "account": "acct accnt",
    "messages": "msgs",
    "messaged": "msgd msged",
    "video": "vid",
    "videos": "vids",
    "pictures": "pix",
    "package": "pkg",
    "packaging": "pkging",
    "delivery": "dlvry",
    "payment": "pymt pmt",
    "quality": "qlty",
    "months": "mths mnths",
    "month": "mth",
    "weeks": "wks",
    "week": "wk",
    "weekend": "wkend wknd",
    "I do not know": "idk",
    "let me": "lemme",
    "give me": "gimme",
    "to be honest": "tbh tbf ngl",
    "in my opinion": "imo imho",
    "by the way": "btw",
    "as far as I know": "afaik",
    "never mind": "nvm",
    "at the moment": "atm",
    "right now": "rn",
    "on my way": "omw",
    "what a shame": "smh",
}
"""What is meant, and how it is typed."""
_SMALL = frozenset(
    ("u", "r", "n", "v", "bc", "ty", "da", "dis", "bt", "wk", "def", "esp", "rn", "af", "atm", "fav")
)
"""Forms that are something else with a capital ("Ty", "ATM"), or often are."""
_COUNTED = (
    "for|of|the|with|my|our|and|or|to|than|at|by|only|all|were|are|age|aged|no|number|room|level|floor|gate|day|week|"
    "part|season|chapter|table|size|version|phase|step|iphone|pixel|series|year"
)
"""Words before a number that is one."""
_TO = rf"(?:\A|(?<![\w'])(?!(?:{_COUNTED}) )[\w']+[,!.]? )"
_NO_NUMBER = rf"(?:\A|(?<![\w'])(?!(?:{_COUNTED}|have|had|has|got) )[\w']+[,!.]? )"
_CASES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "n": (("[a-z,!] ", " (?!word)[a-z]", "and"),),
    "r": (
        (
            r"\b(?:u|you|they|we|how|there|these|both|people|ppl|staff|kids|all|lot|[a-z]{3,}s) ",
            " [a-z]",
            "are",
        ),
    ),
    "af": (("[a-z]{3} ", "", "as hell"),),
    "da": (("", " [a-z]", "the"),),
    "dis": (("", " [a-z]", "this"),),
    "v": (
        (
            "",
            r" (?:good|nice|bad|poor|slow|friendly|helpful|happy|sad|disappointed|expensive|cheap|clean|dirty|loud|"
            r"noisy|tasty|busy|late|rude|small|big|pleased|impressed|disappointing|comfortable|quick|fast|useful)\b",
            "very",
        ),
    ),
    "2": (
        (
            _NO_NUMBER,
            r" (?:(?:much|many|few)\b|(?:slow|late|small|big|expensive|loud|hot|cold|long|short|far|salty|sweet|hard|"
            r"soft|tight|pricey|noisy|dark|bright|heavy|rude|busy|early|crowded)\b"
            r"(?=\s*(?:[.,;:!?)]|\Z)| (?:for|4|to|and|n|but)\b))",
            "too",
        ),
        (
            _TO,
            r" (?:me|us|u|him|her|them|perfection|get|go|do|be|b|see|say|eat|use|pay|find|buy|make|have|come|work|"
            r"leave|wait|ask|speak|talk|fit|clean|hear|tell|return|sit|stay|know|give|take|put|keep|open|look|"
            r"read|break|change|move|try|learn|help|charge|cook|drive|drink|explain|call)\b",
            "to",
        ),
    ),
    "4": (
        (
            _NO_NUMBER,
            r" (?:a|an|me|us|u|ur|your|my|it|him|her|them|what|wat|something|sumthin|free|sure|ages|real|everyone)\b",
            "for",
        ),
    ),
}
"""Forms that are something else elsewhere: what stands before and behind them, and what is meant then."""
_WHERE = {
    form: [
        (re.compile(rf"(?:{before})\Z", re.IGNORECASE), re.compile(behind, re.IGNORECASE), meant)
        for before, behind, meant in cases
    ]
    for form, cases in _CASES.items()
}
_MEANT = {form: meant for meant, forms in _FORMS.items() for form in forms.split()}
_ANY = re.compile(r"(?<![\w@#./'’&$€£-])(?:w/(?:o|out)?|b/c|[a-z0-9]{1,9})(?![\w@/&’'-]|\.\w)", re.IGNORECASE)
_AROUND = 24
"""Characters before a form that are looked at."""


def shorthand(text: str, own: frozenset[str] = frozenset()) -> Iterator[Slip]:
    """The short forms of a text, in order.

    Args:
        text: The text.
        own: Words that stay as they are, in small letters.
    """
    for match in _ANY.finditer(text):
        form, (start, stop) = match[0].lower(), match.span()
        if form in own or (match[0] != form and form in _SMALL):
            continue
        meant = _MEANT.get(form)
        if form in _WHERE:
            before = text[max(0, start - _AROUND) : start]
            fitting = (
                said
                for ahead, behind, said in _WHERE[form]
                if ahead.search(before) and behind.match(text, stop)
            )
            meant = next(fitting, None)
        if meant is not None:
            yield Slip(start, stop, meant)
