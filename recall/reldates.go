package recall

import "time"

// relative reads yesterday, last Tuesday, two weeks ago and the like, against
// the day on which they were said.
func (p *dateParser) relative(i int) int {
	if p.base.IsZero() {
		return 0
	}
	switch w := p.text(i); w {
	case "yesterday":
		return p.daysAway(-1)
	case "today", "tonight":
		return p.daysAway(0)
	case "tomorrow":
		return p.daysAway(1)
	case "last", "past", "this", "next", "on":
		return p.anchored(w, p.text(i+1))
	case "couple", "few", "several":
		return p.ago(i)
	default:
		return p.ago(i)
	}
}

func (p *dateParser) daysAway(n int) int {
	p.found.addDay(p.base.AddDate(0, 0, n))
	return 1
}

// anchored reads last/past/this/next/on followed by a unit, a weekday or a part of the day.
func (p *dateParser) anchored(lead, what string) int {
	sign := map[string]int{"last": -1, "past": -1, "next": 1}[lead]
	if wd, ok := weekdayNumbers[what]; ok {
		p.found.addDay(p.weekday(wd, lead))
		return 2
	}
	if lead == "on" {
		return 0
	}
	switch what {
	case "night":
		p.found.addDay(p.base.AddDate(0, 0, sign))
	case "morning", "afternoon", "evening":
		p.found.addDay(p.base)
	case "weekend":
		p.weekend(lead)
	case "month":
		p.monthsAway(sign)
	case "year":
		p.found.addYear(p.base.Year() + sign)
	case "week":
		t := p.base.AddDate(0, 0, 7*sign)
		p.found.addMonth(t.Year(), int(t.Month()))
	default:
		return 0
	}
	return 2
}

// weekday is the nearest day of that name before the base ("last", "on"), on or
// after it ("this"), or after it ("next").
func (p *dateParser) weekday(wd int, lead string) time.Time {
	ahead := (wd - int(p.base.Weekday()) + 7) % 7
	switch {
	case lead == "next" && ahead == 0:
		ahead = 7
	case (lead == "last" || lead == "past") && ahead == 0, ahead > 0 && lead != "this" && lead != "next":
		ahead -= 7
	}
	return p.base.AddDate(0, 0, ahead)
}

// weekend gives both days of the weekend before, or of this or the next one.
func (p *dateParser) weekend(lead string) {
	saturday := p.weekday(6, "last")
	switch lead {
	case "this":
		saturday = p.weekday(6, "this")
	case "next":
		saturday = p.weekday(6, "next")
	}
	p.found.addDay(saturday)
	p.found.addDay(saturday.AddDate(0, 0, 1))
}

func (p *dateParser) monthsAway(n int) {
	y, m, _ := p.base.Date()
	t := time.Date(y, m, 1, 0, 0, 0, 0, time.UTC).AddDate(0, n, 0)
	p.found.addMonth(t.Year(), int(t.Month()))
}

// ago reads "3 weeks ago", "a couple of months ago", "few days ago".
func (p *dateParser) ago(i int) int {
	n := p.count(i)
	if n < 0 {
		return 0
	}
	j := i + 1
	if p.text(j) == "of" {
		j++
	}
	unit, ok := unitWords[p.text(j)]
	if !ok || p.text(j+1) != "ago" {
		return 0
	}
	switch unit {
	case "day":
		p.found.addDay(p.base.AddDate(0, 0, -n))
	case "week", "weekend":
		t := p.base.AddDate(0, 0, -7*n)
		p.found.addMonth(t.Year(), int(t.Month()))
	case "month":
		p.monthsAway(-n)
	case "year":
		p.found.addYear(p.base.Year() - n)
	}
	return j + 2 - i
}

func (p *dateParser) count(i int) int {
	switch p.text(i) {
	case "a", "an":
		return 1
	case "couple":
		return 2
	case "few", "several":
		return 3
	}
	return p.num(i, 3)
}
