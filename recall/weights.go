package recall

import "fmt"

// Profile is a column of the recipe's weight table.
type Profile uint8

const (
	// Auto lets the index choose: Assistant when at least half of its documents
	// are said by a user or an assistant, Peer otherwise.
	Auto Profile = iota
	// Peer ranks conversations between people: neighbours are of one session.
	Peer
	// Assistant ranks chats with a model: neighbours are of one exchange, a
	// user's message and the assistant's messages after it.
	Assistant
)

// String names the profile as reports print it.
func (p Profile) String() string {
	switch p {
	case Auto:
		return "auto"
	case Peer:
		return "peer"
	case Assistant:
		return "assistant"
	}
	return fmt.Sprintf("profile(%d)", uint8(p))
}

// Features are the parts of a score before they are weighted. Legs (Psg to
// Char4) lie in 0..1: each is divided by the query's best over the whole index.
type Features struct {
	Psg     float64 `json:"psg,omitempty"`      // best passage of the turn
	Next1   float64 `json:"next1,omitempty"`    // Psg of the turn after
	Prev2   float64 `json:"prev2,omitempty"`    // Psg of the turn two before
	PrevQ   float64 `json:"prevq,omitempty"`    // Psg of the turn before, if it asks something
	Win2    float64 `json:"win2,omitempty"`     // the turn and two on each side as one text
	WinP2   float64 `json:"winp2,omitempty"`    // the turn and the two before as one text
	Sess    float64 `json:"sess,omitempty"`     // the whole group as one text
	DeclQ   float64 `json:"declq,omitempty"`    // its statements and the questions of the turn before
	Bigram  float64 `json:"bigram,omitempty"`   // adjacent word pairs
	Char4   float64 `json:"char4,omitempty"`    // character 4-grams
	Speaker float64 `json:"spk,omitempty"`      // the query names its speaker
	Date    float64 `json:"date,omitempty"`     // it speaks of, or was said on, a date of the query
	AtWhen  float64 `json:"at_when,omitempty"`  // the query asks when and it has a time
	AtNum   float64 `json:"at_num,omitempty"`   // ... how many, and it has a number
	AtWhere float64 `json:"at_where,omitempty"` // ... where, and it has a place
	First   float64 `json:"fp,omitempty"`       // it speaks in the first person
	IsQ     float64 `json:"isq,omitempty"`      // it ends in a question mark
	Len     float64 `json:"len,omitempty"`      // ln(1 + stems)/5
}

// peerS19 and assistantS19 are the recipe S19: fitted without word vectors.
var (
	peerS19 = Features{
		Next1: .5, Prev2: .5, PrevQ: 1.5, Win2: 1.75, WinP2: 1.5, Sess: 1.5, DeclQ: 1.5,
		Bigram: .75, Char4: 1, Speaker: 1, Date: 5.25, AtWhen: 1.25, AtNum: 1.25, AtWhere: 2.75,
		First: .75, IsQ: -.25,
	}
	assistantS19 = Features{
		Psg: 2.25, Next1: 1.75, PrevQ: .5, WinP2: 1, Bigram: .75, Char4: 1.75,
		AtNum: .75, AtWhere: 1.75, Len: -4.5,
	}
)

func (p Profile) weights() *Features {
	if p == Assistant {
		return &assistantS19
	}
	return &peerS19
}

// dot is the score: the sum of weight times feature.
func (f *Features) dot(w *Features) float64 {
	return f.Psg*w.Psg + f.Next1*w.Next1 + f.Prev2*w.Prev2 + f.PrevQ*w.PrevQ + f.Win2*w.Win2 +
		f.WinP2*w.WinP2 + f.Sess*w.Sess + f.DeclQ*w.DeclQ + f.Bigram*w.Bigram + f.Char4*w.Char4 +
		f.Speaker*w.Speaker + f.Date*w.Date + f.AtWhen*w.AtWhen + f.AtNum*w.AtNum +
		f.AtWhere*w.AtWhere + f.First*w.First + f.IsQ*w.IsQ + f.Len*w.Len
}

// bm25 is one leg's term weighting.
type bm25 struct{ k1, b float64 }

var (
	passageBM25 = bm25{k1: .9, b: .6}
	legBM25     = bm25{k1: .9, b: .4}
	sessionBM25 = bm25{k1: 1.2, b: .75}
)

// Passages and pruning.
const (
	passageWhole  = 75  // a text of at most this many stems is one passage
	passageStride = 25  // a passage of a longer text is two strides long
	candidates    = 200 // turns by passage score that get the full features
	wordShare     = .55 // share of a word's 4-grams that counts as a look-alike
)
