package dhruva

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Normalize is the form in which texts are compared and named: NFC, every run
// of white space one space, trimmed.
func Normalize(text string) string {
	return strings.Join(strings.Fields(norm.NFC.String(text)), " ")
}

// DigestText is SHA-256 of the normalised text.
func DigestText(text string) Hash { return sha256.Sum256([]byte(Normalize(text))) }

// ContentID is the content-stable id of a text said in a role in a space: the
// same text seen again, in whatever client's history, has the same id. It is
// keyed, so that an id says nothing about a text to who lacks the key.
func ContentID(k Keyring, tenant TenantID, space SpaceID, role Role, text string) SourceID {
	msg := appendStrings(nil, string(space), string(role), Normalize(text))
	sum := k.MAC(PurposeContent, tenant, msg)
	return SourceID(strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20])))
}

// SignSource sets the source's provenance under the current keys.
func SignSource(k Keyring, s *Source) {
	s.KID = k.KID()
	s.MAC = k.MAC(PurposeProvenance, s.Tenant, s.provenance())
}

// VerifySource reports whether a source's provenance stands.
func VerifySource(k Keyring, s Source) bool {
	return k.Verify(PurposeProvenance, s.Tenant, s.KID, s.provenance(), s.MAC)
}

// provenance is the signed message: length-prefixed tenant, space, id, role,
// class, kid; generation; digest.
func (s *Source) provenance() []byte {
	msg := appendStrings([]byte("dhruva.provenance.v1\n"), string(s.Tenant), string(s.Space), string(s.ID), string(s.Role), string(s.Class), s.KID)
	msg = binary.BigEndian.AppendUint64(msg, uint64(s.Generation))
	return append(msg, s.Digest[:]...)
}

func appendStrings(b []byte, parts ...string) []byte {
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
	}
	return b
}

// SourceText reads a source's text through its first reference that still
// stands: a turn that is not redacted, or a checkpoint item that is not; one of a
// checkpoint that was hidden only when there is no other. The text may differ from
// other references' in white space only. ErrNotFound when nothing says it any more.
func SourceText(tx Tx, s Source) (string, Reference, error) {
	refs, err := tx.References(s.Space, s.Generation, s.ID)
	if err != nil {
		return "", Reference{}, err
	}
	var hidden Reference
	var said string
	for _, r := range refs {
		text, shown, ok := referenceText(tx, r)
		if ok && shown {
			return text, r, nil
		}
		if ok && hidden == (Reference{}) {
			said, hidden = text, r
		}
	}
	if hidden != (Reference{}) {
		return said, hidden, nil
	}
	return "", Reference{}, fmt.Errorf("%w: no text of source %s stands", ErrNotFound, s.ID)
}

// ReferenceText reads the text at one reference; false when it is gone.
func ReferenceText(tx Tx, r Reference) (string, bool) {
	text, _, ok := referenceText(tx, r)
	return text, ok
}

// referenceText also tells whether the checkpoint of a reference is shown.
func referenceText(tx Tx, r Reference) (text string, shown, ok bool) {
	if r.Session != "" {
		t, err := tx.Turn(r.Session, r.Seq)
		return t.Content, true, err == nil && !t.Redacted
	}
	c, err := tx.Checkpoint(r.Checkpoint)
	if err != nil {
		return "", false, false
	}
	for _, i := range c.Items {
		if i.ID == r.Item && !i.Redacted {
			return i.Text, c.HiddenAt.IsZero(), true
		}
	}
	return "", false, false
}
