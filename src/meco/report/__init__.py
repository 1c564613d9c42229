"""Reports of campaigns: tables by pandas, figures by matplotlib, one page by jinja2."""
