"""Statistics, tables, figures and the page, from what a campaign kept."""
