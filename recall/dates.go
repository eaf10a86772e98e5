package recall

import (
	"strconv"
	"time"
)

// dateToken is a calendar fact in one integer: its kind in the high bits, its
// value (yyyymmdd, yyyymm, yyyy, mm or mmdd) below.
type dateToken uint32

const (
	dayToken      dateToken = 1 << 28 // a full date
	monthToken    dateToken = 2 << 28 // a month of a year
	yearToken     dateToken = 3 << 28
	bareMonth     dateToken = 4 << 28 // a month of any year
	yearlessDay   dateToken = 5 << 28 // a day and month of any year
	dateKindMask  dateToken = 15 << 28
	ownDateWeight           = .7 // a turn's own date against a date in its text
)

// dateCost is c of the recipe: how much a query's token of a kind weighs.
func dateCost(t dateToken) float64 {
	switch t & dateKindMask {
	case dayToken:
		return 3
	case yearlessDay:
		return 2.5
	case monthToken:
		return 1.5
	case bareMonth:
		return 1
	}
	return .5
}

// dateSet collects tokens in order of first mention.
type dateSet []dateToken

func (d *dateSet) add(ts ...dateToken) {
	for _, t := range ts {
		if !d.has(t) {
			*d = append(*d, t)
		}
	}
}

func (d dateSet) has(t dateToken) bool {
	for _, x := range d {
		if x == t {
			return true
		}
	}
	return false
}

func (d *dateSet) addYear(y int) { d.add(yearToken | dateToken(y)) }

func (d *dateSet) addMonth(y, m int) {
	d.add(monthToken|dateToken(y*100+m), bareMonth|dateToken(m))
	d.addYear(y)
}

func (d *dateSet) addDay(t time.Time) {
	y, m, day := t.Date()
	d.add(dayToken|dateToken(y*10000+int(m)*100+day), yearlessDay|dateToken(int(m)*100+day))
	d.addMonth(y, int(m))
}

// ownDates are the tokens of the day on which something was said.
func ownDates(t time.Time) dateSet {
	var d dateSet
	if !t.IsZero() {
		d.addDay(t)
	}
	return d
}

// turnDates reads the dates that a turn speaks of, relative ones resolved
// against base, the day it was said. A zero base resolves nothing.
func turnDates(ws []word, base time.Time) dateSet {
	p := dateParser{words: ws, base: base}
	for i := 0; i < len(ws); {
		i += p.step(i)
	}
	return p.found
}

// queryDates reads the dates of a query. A month or day without a year stays
// without one; relative expressions count only when now is known.
func queryDates(ws []word, now time.Time) dateSet {
	p := dateParser{words: ws, base: now, query: true}
	for i := 0; i < len(ws); {
		i += p.step(i)
	}
	return p.found
}

type dateParser struct {
	words []word
	base  time.Time
	query bool
	found dateSet
}

// step reads the expression that starts at word i and says how many words it took.
func (p *dateParser) step(i int) int {
	for _, read := range [...]func(int) int{p.numeric, p.dayMonth, p.monthDay, p.month, p.year, p.relative} {
		if n := read(i); n > 0 {
			return n
		}
	}
	return 1
}

func (p *dateParser) text(i int) string {
	if i < 0 || i >= len(p.words) {
		return ""
	}
	return p.words[i].text
}

// num reads word i as a number of at most max digits; -1 when it is none.
func (p *dateParser) num(i, digits int) int {
	s := p.text(i)
	if len(s) > digits || !allDigits(s) {
		return -1
	}
	n, _ := strconv.Atoi(s)
	return n
}

func (p *dateParser) yearAt(i int) (int, bool) {
	if len(p.text(i)) != 4 {
		return 0, false
	}
	y := p.num(i, 4)
	return y, 1900 <= y && y <= 2100
}

func (p *dateParser) dayAt(i int) (int, bool) {
	d := p.num(i, 2)
	return d, 1 <= d && d <= 31
}

func (p *dateParser) dashed(i int) bool { return i < len(p.words) && p.words[i].dash }

// numeric reads 2023-05-07 and 5/7/2023.
func (p *dateParser) numeric(i int) int {
	if !p.dashed(i+1) || !p.dashed(i+2) {
		return 0
	}
	if y, ok := p.yearAt(i); ok {
		return p.fullDate(y, p.num(i+1, 2), p.num(i+2, 2))
	}
	if y, ok := p.yearAt(i + 2); ok {
		return p.fullDate(y, p.num(i, 2), p.num(i+1, 2))
	}
	return 0
}

func (p *dateParser) fullDate(y, m, d int) int {
	if m < 1 || m > 12 || d < 1 || d > 31 {
		return 0
	}
	p.day(y, m, d)
	return 3
}

// dayMonth reads 7 May 2023, 7th of May, 7 May.
func (p *dateParser) dayMonth(i int) int {
	d, ok := p.dayAt(i)
	if !ok {
		return 0
	}
	n := 1
	if p.text(i+1) == "of" {
		n = 2
	}
	m, ok := monthNumbers[p.text(i+n)]
	if !ok {
		return 0
	}
	return p.dated(i+n+1, m, d) + n + 1
}

// monthDay reads May 7 2023, May 7th.
func (p *dateParser) monthDay(i int) int {
	m, ok := monthNumbers[p.text(i)]
	if !ok {
		return 0
	}
	n := 1
	if p.text(i+1) == "the" {
		n = 2
	}
	d, ok := p.dayAt(i + n)
	if !ok {
		return 0
	}
	return p.dated(i+n+1, m, d) + n + 1
}

// dated ends a day of a month with its year, written at i or understood.
func (p *dateParser) dated(i, m, d int) int {
	if y, ok := p.yearAt(i); ok {
		p.day(y, m, d)
		return 1
	}
	if y, ok := p.impliedYear(m); ok {
		p.day(y, m, d)
		return 0
	}
	p.found.add(yearlessDay|dateToken(m*100+d), bareMonth|dateToken(m))
	return 0
}

// impliedYear is the year a turn means by a month: its own, or the one before
// when the month would lie more than six months ahead.
func (p *dateParser) impliedYear(m int) (int, bool) {
	if p.query || p.base.IsZero() {
		return 0, false
	}
	y := p.base.Year()
	if m > int(p.base.Month())+6 {
		y--
	}
	return y, true
}

func (p *dateParser) day(y, m, d int) {
	p.found.addDay(time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC))
}

// month reads May 2023 and a month alone. The names that are also verbs (may,
// march) count only beside a year or after in, last, this and the like.
func (p *dateParser) month(i int) int {
	name := p.text(i)
	m, ok := monthNumbers[name]
	if !ok {
		return 0
	}
	of := 0
	if p.text(i+1) == "of" {
		of = 1
	}
	if y, ok := p.yearAt(i + 1 + of); ok {
		p.found.addMonth(y, m)
		return 2 + of
	}
	if (name == "may" || name == "march" || name == "mar") && !monthLead(p.text(i-1)) {
		return 0
	}
	if y, ok := p.impliedYear(m); ok {
		p.found.addMonth(y, m)
	} else {
		p.found.add(bareMonth | dateToken(m))
	}
	return 1
}

func monthLead(w string) bool {
	switch w {
	case "in", "last", "this", "next", "since", "until", "by", "of", "early", "late", "mid", "during":
		return true
	}
	return false
}

func (p *dateParser) year(i int) int {
	y, ok := p.yearAt(i)
	if !ok {
		return 0
	}
	p.found.addYear(y)
	return 1
}
