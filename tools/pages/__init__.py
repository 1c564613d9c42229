"""What README.md and the docs tell of results, methods and measurements, written from what the repository keeps.

    python -m tools.pages             # tables from the store, then every page and picture
    python -m tools.pages --check     # say which pages are out of date

A block stands between `<!-- numbers: KIND ARGUMENTS -->` and `<!-- end -->`; a number in a sentence is written
`<!--=TABLE|ROW|COLUMN-->3.21<!--/-->`, and `|%` or `|.4f` after the column formats it. Neither is seen on a page.
A number of a table that is not there yet is a dash, and a block says that its experiment has not been run.
"""
