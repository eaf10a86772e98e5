package recall

import (
	"cmp"
	"slices"

	"github.com/dhruva-memory/dhruva"
)

// reasons names the legs that made a hit's score, strongest first; the sum of
// the values is the score, legs that gave nothing are left out.
func reasons(f, w *Features) []dhruva.Reason {
	all := []dhruva.Reason{
		{Name: "psg", Value: f.Psg * w.Psg}, {Name: "next1", Value: f.Next1 * w.Next1},
		{Name: "prev2", Value: f.Prev2 * w.Prev2}, {Name: "prevq", Value: f.PrevQ * w.PrevQ},
		{Name: "win2", Value: f.Win2 * w.Win2}, {Name: "winp2", Value: f.WinP2 * w.WinP2},
		{Name: "sess", Value: f.Sess * w.Sess}, {Name: "declq", Value: f.DeclQ * w.DeclQ},
		{Name: "bigram", Value: f.Bigram * w.Bigram}, {Name: "char4", Value: f.Char4 * w.Char4},
		{Name: "spk", Value: f.Speaker * w.Speaker}, {Name: "date", Value: f.Date * w.Date},
		{Name: "at_when", Value: f.AtWhen * w.AtWhen}, {Name: "at_num", Value: f.AtNum * w.AtNum},
		{Name: "at_where", Value: f.AtWhere * w.AtWhere}, {Name: "fp", Value: f.First * w.First},
		{Name: "isq", Value: f.IsQ * w.IsQ}, {Name: "len", Value: f.Len * w.Len},
	}
	all = slices.DeleteFunc(all, func(r dhruva.Reason) bool { return r.Value == 0 })
	slices.SortStableFunc(all, func(a, b dhruva.Reason) int { return cmp.Compare(max(b.Value, -b.Value), max(a.Value, -a.Value)) })
	return all
}
