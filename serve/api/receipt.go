package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

func (a *api) receipts() {
	tags := []string{"receipts"}
	route(a, huma.Operation{OperationID: "list-receipts", Method: http.MethodGet, Path: "/receipts", Summary: "List receipts, newest first", Tags: tags}, a.listReceipts)
	route(a, huma.Operation{OperationID: "show-receipt", Method: http.MethodGet, Path: "/receipts/{id}", Summary: "Show a receipt", Tags: tags}, a.showReceipt)
}

func (a *api) listReceipts(ctx context.Context, in *struct {
	Paging
	Space   string           `query:"space" doc:"Id or name of a space."`
	Session dhruva.SessionID `query:"session"`
	Kind    string           `query:"kind" enum:"proxy,send,recall,read,remember,commit,mount,fork,key_create,key_revoke,space_delete,release"`
}) (client.List[client.Receipt], error) {
	page, err := in.byID()
	if err != nil {
		return client.List[client.Receipt]{}, err
	}
	q := dhruva.ReceiptQuery{Session: in.Session, Kind: in.Kind, Page: page}
	if in.Space != "" {
		s, err := a.space(ctx, in.Space)
		if err != nil {
			return client.List[client.Receipt]{}, err
		}
		q.Space = s.ID
	}
	rows, next, err := a.ledger.ListReceipts(ctx, q)
	if err == nil && len(rows) == 0 {
		err = a.known(ctx, in.Session)
	}
	return list(rows, next, func(r dhruva.Receipt) client.Receipt { return r }), err
}

func (a *api) showReceipt(ctx context.Context, in *struct {
	ID dhruva.ReceiptID `path:"id"`
}) (client.Receipt, error) {
	return a.ledger.Receipt(ctx, in.ID)
}
