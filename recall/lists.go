package recall

import "strings"

// The word lists of the recipe. They are read-only after start.

func set(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// stopWords is list X, applied before stemming.
var stopWords = set(`a an the and or but if of to in on at for with from by is are was were be been being
 i you he she it we they me him her us them my your his its our their this that these those do does did have
 has had will would can could should what when where who why how which as about not no so just than then
 there here into over after before during out up down am im ive id ill dont didnt doesnt isnt wasnt cant
 couldnt wouldnt wont thats whats lets youre theyre hes shes any some all each both more most other such own
 same too very s t d ll m re ve having doing shall may might must also anything something someone`)

var numberWords = map[string]string{
	"zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
	"seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}

var timeWords = set(`yesterday today tonight tomorrow last next ago week weekend month year since recently
 soon anniversary birthday monday tuesday wednesday thursday friday saturday sunday january february april june
 july august september october november december`)

// thisWords make a time expression after "this".
var thisWords = set(`morning week month summer fall winter spring`)

var quantityWords = set(`dozen once twice couple several few hundred thousand`)

var placeWords = set(`park beach lake city country town mountain forest museum cafe restaurant studio school
 university store shop gym hotel`)

var placePrepositions = set(`in at to from near around`)

var firstPersonWords = set(`i my we our`)

var monthNumbers = map[string]int{
	"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8,
	"september": 9, "october": 10, "november": 11, "december": 12,
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9,
	"oct": 10, "nov": 11, "dec": 12,
}

var weekdayNumbers = map[string]int{
	"sunday": 0, "monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6,
}

var unitWords = map[string]string{
	"day": "day", "days": "day", "week": "week", "weeks": "week", "weekend": "weekend",
	"month": "month", "months": "month", "year": "year", "years": "year",
}

// query shapes: a question word and what must follow it.
var (
	whenNouns     = set(`date day month year time`)
	whichWhen     = set(`month year day date`)
	howMany       = set(`many much often old long`)
	numberNouns   = set(`number percentage amount`)
	locationNouns = set(`city country place state town location`)
)
