package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dhruva-memory/dhruva"
)

// DraftInput asks a model to draft a checkpoint from a session's window, the
// same that a send shows.
type DraftInput struct {
	Turns    int    `json:"turns,omitempty" minimum:"0" doc:"At most so many of the newest turns; 0: the whole window, within its budget."`
	Provider string `json:"provider,omitempty" doc:"Default: the configured background_intelligence."`
	Model    string `json:"model,omitempty"`
}

// Draft is a checkpoint that nobody has saved. It is written as the input of
// one, so that it can be changed and saved.
type Draft struct {
	CheckpointInput
	Window   *Window  `json:"window" doc:"Turns it was drawn from; null when there were none."`
	Turns    []int64  `json:"turn_numbers" doc:"The turns that the model was shown."`
	Cut      int      `json:"cut" doc:"Turns of the window left out for the budget; the newest are kept."`
	LeftOut  string   `json:"left_out,omitempty" doc:"What was left out and why."`
	Uncited  []string `json:"uncited" doc:"Texts of items for which the model named no turn that there is."`
	Provider string   `json:"provider"`
	Model    string   `json:"model"`

	ReceiptID dhruva.ReceiptID `json:"receipt_id"`
}

// ExtractInput is a text from which a checkpoint is drafted.
type ExtractInput struct {
	Content  string `json:"content" minLength:"1" doc:"At most 200,000 characters."`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
}

// Review is what a model finds about a checkpoint.
type Review struct {
	Checkpoint  dhruva.Hash   `json:"checkpoint"`
	Issues      []ReviewIssue `json:"issues" doc:"At most 5."`
	Suggestions []string      `json:"suggestions" doc:"At most 5."`
	LeftOut     string        `json:"left_out,omitempty" doc:"What the model was not given."`
	Provider    string        `json:"provider"`
	Model       string        `json:"model"`
	At          time.Time     `json:"at"`

	ReceiptID dhruva.ReceiptID `json:"receipt_id"`
}

// ReviewIssue is one finding.
type ReviewIssue struct {
	Type        string `json:"type" doc:"contradiction, hidden_assumption, resolved_question or unused_entity."`
	Description string `json:"description"`
}

// ModelInput names who answers.
type ModelInput struct {
	Provider string `json:"provider,omitempty" doc:"Default: the configured background_intelligence."`
	Model    string `json:"model,omitempty"`
}

// TipInput selects which of several siblings a conversation goes on from.
type TipInput struct {
	Turn int64 `json:"turn" minimum:"1" doc:"Sequence number of the turn that the next one follows."`
}

// Draft asks a model for a checkpoint from a session's window; nothing is saved.
func (c *Client) Draft(ctx context.Context, id dhruva.SessionID, in DraftInput) (Draft, error) {
	return call[Draft](ctx, c, http.MethodPost, sessionPath(id)+"/draft", in)
}

// Extract asks a model for a checkpoint from a text; nothing is saved.
func (c *Client) Extract(ctx context.Context, in ExtractInput) (Draft, error) {
	return call[Draft](ctx, c, http.MethodPost, "/extract", in)
}

// Review asks a model what is wrong with a checkpoint; nothing is saved.
func (c *Client) Review(ctx context.Context, ref string, in ModelInput) (Review, error) {
	return call[Review](ctx, c, http.MethodPost, checkpointPath(ref)+"/review", in)
}

// Siblings lists the turns that stand beside one: other versions of it.
func (c *Client) Siblings(ctx context.Context, id dhruva.SessionID, seq int64) (List[Turn], error) {
	return call[List[Turn]](ctx, c, http.MethodGet, turnPath(id, seq)+"/siblings", nil)
}

// Path lists the latest turns of a session's conversation, in order: those on the
// way from where it stands to its beginning, before a number when it is not 0.
func (c *Client) Path(ctx context.Context, id dhruva.SessionID, before int64, limit int) (List[Turn], error) {
	q := url.Values{}
	if before > 0 {
		q.Set("before", strconv.FormatInt(before, 10))
	}
	return call[List[Turn]](ctx, c, http.MethodGet, sessionPath(id)+"/path"+pageQuery(dhruva.Page{Limit: limit}, q), nil)
}

// SelectTip goes on from another turn.
func (c *Client) SelectTip(ctx context.Context, id dhruva.SessionID, turn int64) (Session, error) {
	return call[Session](ctx, c, http.MethodPut, sessionPath(id)+"/tip", TipInput{turn})
}
