"""One line of progress: in place on a terminal, line by line elsewhere."""

import io

from meco.core.progress_line import ProgressLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_of_a_file_stand_one_under_the_other():
    out = io.StringIO()
    line = ProgressLine(every=0.0, out=out)
    for text in ("1 of 2", "2 of 2"):
        line.show(text)
    line.end()
    assert out.getvalue() == "1 of 2\n2 of 2\n"


def test_a_terminal_shows_the_last_line_until_it_is_cleared():
    out = Terminal()
    line = ProgressLine(every=15.0, live_every=0.0, out=out)
    line.clear()
    assert out.getvalue() == ""  # nothing was drawn
    assert line.due
    line.show("1 of 2")
    line.clear()
    line.end()
    assert out.getvalue() == "\r\x1b[K1 of 2\r\x1b[K"


def test_a_line_is_not_due_before_its_time():
    assert not ProgressLine(every=60.0, out=io.StringIO()).due
