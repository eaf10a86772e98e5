package recall

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func day(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 12, 0, 0, 0, time.UTC) }

// spell writes date tokens as the recipe does: D2023-05-07, M2023-05, Y2023, m05, d0507.
func spell(d dateSet) string {
	var out []string
	for _, t := range d {
		v := int(t &^ dateKindMask)
		switch t & dateKindMask {
		case dayToken:
			out = append(out, fmt.Sprintf("D%04d-%02d-%02d", v/10000, v/100%100, v%100))
		case monthToken:
			out = append(out, fmt.Sprintf("M%04d-%02d", v/100, v%100))
		case yearToken:
			out = append(out, fmt.Sprintf("Y%d", v))
		case bareMonth:
			out = append(out, fmt.Sprintf("m%02d", v))
		case yearlessDay:
			out = append(out, fmt.Sprintf("d%04d", v))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestTurnDates(t *testing.T) {
	monday := day(2023, 5, 8)
	whole := func(d time.Time) string { return spell(ownDates(d)) }
	for text, want := range map[string]string{
		"I went yesterday":                whole(day(2023, 5, 7)),
		"last night":                      whole(day(2023, 5, 7)),
		"it is tonight":                   whole(monday),
		"this morning":                    whole(monday),
		"see you tomorrow":                whole(day(2023, 5, 9)),
		"last Friday":                     whole(day(2023, 5, 5)),
		"on Tuesday":                      whole(day(2023, 5, 2)),
		"last Monday":                     whole(day(2023, 5, 1)),
		"next Monday":                     whole(day(2023, 5, 15)),
		"this Friday":                     whole(day(2023, 5, 12)),
		"3 days ago":                      whole(day(2023, 5, 5)),
		"a couple of days ago":            whole(day(2023, 5, 6)),
		"two weeks ago":                   "M2023-04 Y2023 m04",
		"a month ago":                     "M2023-04 Y2023 m04",
		"five years ago":                  "Y2018",
		"last year":                       "Y2022",
		"next month":                      "M2023-06 Y2023 m06",
		"last weekend":                    "D2023-05-06 D2023-05-07 M2023-05 Y2023 d0506 d0507 m05",
		"in December":                     "M2022-12 Y2022 m12", // more than six months ahead: the year before
		"in November":                     "M2023-11 Y2023 m11",
		"on the 3rd of June":              whole(day(2023, 6, 3)),
		"June 3rd, 2021":                  whole(day(2021, 6, 3)),
		"on 2021-06-03 or so":             whole(day(2021, 6, 3)),
		"on 6/3/2021":                     whole(day(2021, 6, 3)),
		"you may march on":                "",
		"in May":                          "M2023-05 Y2023 m05",
		"since 2019":                      "Y2019",
		"room 2500, extension 1234":       "",
		"I sat on the couch the last day": "",
	} {
		if got := spell(turnDates(words(text), monday)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestTurnDatesWithoutBase(t *testing.T) {
	for text, want := range map[string]string{
		"yesterday, two weeks ago, last Friday": "",
		"in June":                               "m06",
		"June 3":                                "d0603 m06",
		"June 3 2021":                           spell(ownDates(day(2021, 6, 3))),
	} {
		if got := spell(turnDates(words(text), time.Time{})); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestQueryDates(t *testing.T) {
	for text, want := range map[string]string{
		"What did she do on 7 May 2023?": spell(ownDates(day(2023, 5, 7))),
		"What happened on May 7?":        "d0507 m05",
		"in July 2022":                   "M2022-07 Y2022 m07",
		"in July":                        "m07",
		"yesterday":                      "",
	} {
		if got := spell(queryDates(words(text), time.Time{})); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	got := spell(queryDates(words("What did I say yesterday?"), day(2024, 3, 1)))
	if diff := cmp.Diff(spell(ownDates(day(2024, 2, 29))), got); diff != "" {
		t.Errorf("relative to now (-want +got):\n%s", diff)
	}
}
