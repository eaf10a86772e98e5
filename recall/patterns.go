package recall

import "strings"

// flags are the surface features of a turn that the ranking reads.
type flags uint8

const (
	hasTime     flags = 1 << iota // a time expression
	hasNumber                     // a number or a quantity word
	hasPlace                      // a place name or noun
	firstPerson                   // I, my, we, our
	isQuestion                    // the turn ends in a question mark
	hasQuestion                   // one of its sentences is a question
)

// asks are the answer types that a query asks for.
type asks struct{ when, number, where bool }

func turnFlags(ws []word) flags {
	var f flags
	for i, w := range ws {
		if isTimeWord(ws, i) {
			f |= hasTime
		}
		if quantityWords[w.text] || strings.ContainsAny(w.text, "0123456789") {
			f |= hasNumber
		}
		if placeWords[w.text] || namesPlace(ws, i) {
			f |= hasPlace
		}
		if firstPersonWords[w.text] {
			f |= firstPerson
		}
	}
	return f
}

func isTimeWord(ws []word, i int) bool {
	w := ws[i]
	switch {
	case timeWords[w.text], w.ordinal && len(w.text) <= 2:
		return true
	case len(w.text) == 4 && allDigits(w.text):
		return true
	}
	return i > 0 && ws[i-1].text == "this" && thisWords[w.text]
}

// namesPlace says whether a preposition, an optional "the" and a capital end at i.
func namesPlace(ws []word, i int) bool {
	if !ws[i].capital || i == 0 {
		return false
	}
	if ws[i-1].text == "the" {
		i--
	}
	return i > 0 && placePrepositions[ws[i-1].text]
}

func queryAsks(ws []word) asks {
	var a asks
	for i, w := range ws {
		next := ""
		if i+1 < len(ws) {
			next = ws[i+1].text
		}
		switch w.text {
		case "when":
			a.when = true
		case "where":
			a.where = true
		case "since":
			a.when = a.when || next == "when"
		case "how":
			a.when = a.when || next == "long" || strings.HasPrefix(next, "recent")
			a.number = a.number || howMany[next]
		case "what":
			a.when = a.when || whenNouns[next]
			a.number = a.number || numberNouns[next]
			a.where = a.where || locationNouns[next]
		case "which":
			a.when = a.when || whichWhen[next]
			a.where = a.where || locationNouns[next]
		}
	}
	return a
}
