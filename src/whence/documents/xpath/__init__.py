"""The part of XPath that queries over arriving documents are written in: text to syntax trees."""
