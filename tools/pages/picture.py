"""The picture of the headline: average ranks by both metrics on each suite, as an SVG that a phone can show."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from meco.bench.report.names import OURS, shown_name
from tools.pages.standings import FIRST, SCORE, Standing

WIDTH, GAP, PAD = 680, 24, 18
PANEL = (WIDTH - 2 * PAD - GAP) // 2
NAMES, ROW, TOP, FOOT = 134, 25, 58, 34  # width of the names; heights of a row, of the title and of the axis
LEADERS = 7  # of each suite are shown, and ours wherever they stand
STYLE = """
.card{fill:#fff}.band{fill:#e8ebf7}.t{fill:#0f172a}.s{fill:#556070}.o{fill:#3730c9}.grid{stroke:#d8dde6}
.dot{fill:#64748b;stroke:#64748b}.ring{fill:#fff;stroke:#64748b}.link{stroke:#b4bcc9}
.ours .dot{fill:#3730c9;stroke:#3730c9}.ours .ring{stroke:#3730c9}.ours .link{stroke:#a5a1ee}
@media (prefers-color-scheme:dark){
.card{fill:#161b26}.band{fill:#262d44}.t{fill:#eef1f6}.s{fill:#a3adbd}.o{fill:#a9a5ff}.grid{stroke:#333c4d}.dot{fill:#94a3b8;stroke:#94a3b8}.ring{fill:#161b26;stroke:#94a3b8}.link{stroke:#505b6e}
.ours .dot{fill:#a9a5ff;stroke:#a9a5ff}.ours .ring{stroke:#a9a5ff}.ours .link{stroke:#5b57b5}}
"""


def draw_headline(seen: Sequence[Standing]) -> str:
    """Two panels beside each other, the key below."""
    parts, y = [], float(PAD)
    for k in range(0, len(seen), 2):
        pair = seen[k : k + 2]
        for i, s in enumerate(pair):
            parts.append(f'<g transform="translate({PAD + i * (PANEL + GAP)} {y:g})">{_draw_panel(s)}</g>')
        y += max(TOP + FOOT + ROW * len(_shown_methods(s)) for s in pair) + 14
    height = y + 62
    said = "; ".join(f"{s.title}: {s.order(FIRST)[0]} is first, {s.order(FIRST)[1]} second" for s in seen)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}" '
        f'font-family="system-ui, Segoe UI, DejaVu Sans, sans-serif" font-size="16" role="img" aria-labelledby="t d">\n'
        f'<title id="t">Average ranks on {len(seen)} suites</title>\n'
        f'<desc id="d">Feasibility first, {escape(said)}.</desc>\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="card" width="{WIDTH}" height="{height:g}" rx="14"/>\n{"".join(parts)}{_draw_key(y)}</svg>\n'
    )


def _shown_methods(s: Standing) -> list[str]:
    """The methods that the picture names, best first."""
    order = s.order(FIRST)
    return [m for m in order if m in order[:LEADERS] or m in OURS]


def _draw_panel(s: Standing) -> str:
    """A row for each method: a dot feasibility first, a ring by f+ν; the band is the critical difference."""
    rows = _shown_methods(s)
    end = max(s.rank(m, c) for m in rows for c in (SCORE, FIRST)) + 0.6
    bottom = TOP + ROW * len(rows)

    def across(rank: float) -> float:
        return NAMES + 8 + (PANEL - NAMES - 16) * (min(rank, end) - 1) / (end - 1)

    first = s.rank(rows[0], FIRST)
    left, right = across(first), across(first + s.difference)
    parts = [
        _text_element(0, 18, s.title[0].upper() + s.title[1:], "t", 18, weight=700),
        _text_element(0, 39, f"{s.problems} problems, {len(s.methods)} methods", "s", 14),
        f'<rect class="band" x="{left:.1f}" y="{TOP - 4}" width="{right - left:.1f}" height="{bottom - TOP + 4}"/>',
    ]
    for tick in range(1, int(end) + 1, 2) if end < 12 else [1, *range(5, int(end) + 1, 5)]:
        parts.append(f'<path class="grid" d="M{across(tick):.1f} {TOP - 4}V{bottom}"/>')
        parts.append(_text_element(across(tick), bottom + 18, str(tick), "s", 14, "middle"))
    for place, method in enumerate(rows):
        parts.append(
            _draw_row(method, across(s.rank(method, FIRST)), across(s.rank(method, SCORE)), TOP + ROW * (place + 0.5))
        )
    return "".join(parts) + "\n"


def _draw_row(method: str, dot: float, ring: float, y: float) -> str:
    """A method with its dot and ring, at a height."""
    ours = method in OURS
    name = _text_element(NAMES - 6, y + 5, shown_name(method), "o" if ours else "t", 16, "end", 700 if ours else 400)
    marks = f'<path class="link" stroke-width="3" d="M{dot:.1f} {y:g}H{ring:.1f}"/>'
    marks += f'<circle class="ring" stroke-width="2" cx="{ring:.1f}" cy="{y:g}" r="5"/>'
    marks += f'<circle class="dot" stroke-width="2" cx="{dot:.1f}" cy="{y:g}" r="5"/>'
    return f'<g class="{"ours" if ours else "others"}">{name}{marks}</g>'


def _draw_key(y: float) -> str:
    """What dot, ring and band mean, at a height."""
    return (
        f'<g transform="translate({PAD} {y:g})"><circle class="dot" cx="6" cy="8" r="5"/>'
        f"{_text_element(18, 13, 'average rank, feasibility first', 't', 15)}"
        f'<circle class="ring" stroke-width="2" cx="262" cy="8" r="5"/>{_text_element(274, 13, "by f+ν", "t", 15)}'
        f"{_text_element(360, 13, 'left is better; 1 is the best', 's', 15)}"
        f'<rect class="band" x="0" y="26" width="14" height="16"/>'
        f"{_text_element(22, 40, 'critical difference: dots within it may be level with the first', 't', 15)}</g>"
    )


def _text_element(x: float, y: float, text: str, kind: str, size: int, anchor: str = "start", weight: int = 400) -> str:
    """Text at a place."""
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:g}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )
