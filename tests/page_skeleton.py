"""What a page is made of, whatever its words: two pages of one skeleton differ in their text alone."""

from __future__ import annotations

from html.parser import HTMLParser


class Skeleton(HTMLParser):
    """Elements with the names of their attributes, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.parts, self.text = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.parts.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag):
        self.parts.append(("/", tag))

    def handle_comment(self, data):
        self.parts.append(("comment", data))

    def handle_data(self, data):
        self.text.append(data)
