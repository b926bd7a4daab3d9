package template

// NewText is for the tests of texts that are no templates.
var NewText = newText
