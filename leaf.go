package dhruva

import (
	"crypto/sha256"
	"fmt"
)

// Kinds of leaves that are not named by the act of their receipt.
const (
	LeafReceipt     = "receipt"
	LeafInterrupted = "interrupted"
)

// Acts of administration: the kinds of their receipts and of the leaves.
const (
	ActKeyCreate   = "key_create"   // Subject is the key
	ActKeyRevoke   = "key_revoke"   // Subject is the key
	ActSpaceDelete = "space_delete" // the receipt's space
	ActRelease     = "release"      // Subject is the source that was held
	ActRemark      = "remark"       // Subject is the note, Checkpoint what it is about
)

// receiptMagic opens what a receipt's digest is over (docs/format.md).
const receiptMagic = "dhruva.receipt.v1\n"

// DigestReceipt is SHA-256 over the canonical encoding of a receipt as a store
// gives it back. Fields that a receipt does not use are not part of it; so every
// field that is added later is left out of the JSON when it is empty.
func DigestReceipt(r Receipt) (Hash, error) {
	form, err := CanonicalJSON(r.Canonical())
	if err != nil {
		return Hash{}, fmt.Errorf("receipt %s: %w", r.ID, err)
	}
	h := sha256.New()
	h.Write([]byte(receiptMagic))
	h.Write(form)
	return Hash(h.Sum(nil)), nil
}

// LeafOf is the audit leaf of a receipt that has ended, to be committed with it.
func LeafOf(r Receipt) (Leaf, error) {
	l := Leaf{Tenant: r.Tenant, Space: r.Space, ID: LeafID(r.ID), Kind: LeafReceipt, At: r.FinishedAt}
	switch {
	case r.State == "interrupted":
		l.Kind = LeafInterrupted
	case r.State != "final":
		return l, fmt.Errorf("%w: receipt %s is %s: only what has ended is attested", ErrInvalid, r.ID, r.State)
	case r.Kind == ActKeyCreate || r.Kind == ActKeyRevoke || r.Kind == ActSpaceDelete || r.Kind == ActRelease || r.Kind == ActRemark:
		l.Kind = r.Kind
	}
	var err error
	l.Digest, err = DigestReceipt(r)
	return l, err
}

// Attest stores a receipt that has ended, and its leaf, in the Update of what it
// accounts for.
func Attest(tx Tx, r Receipt) error {
	leaf, err := LeafOf(r)
	if err != nil {
		return err
	}
	if err := tx.PutReceipt(r); err != nil {
		return err
	}
	return tx.PutLeaf(leaf)
}
