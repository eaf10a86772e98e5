package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Fingerprints identify an assistant message in a later request, whichever way
// the client wrote it: "call:" for a tool call id, "sig:" for a thinking
// signature or sealed reasoning, "item:" for an item id, "text:" for the first
// 256 characters of the visible text. The rest is 128 bits of SHA-256 in hex.
const (
	printCall = "call:"
	printSig  = "sig:"
	printItem = "item:"
	printText = "text:"
)

// maxPrints bounds the fingerprints of one answer.
const maxPrints = 256

func fingerprint(kind, value string) string {
	sum := sha256.Sum256([]byte(value))
	return kind + hex.EncodeToString(sum[:16])
}

// addPrint appends a fingerprint once; an empty value has none.
func addPrint(list []string, kind, value string) []string {
	if value == "" || len(list) >= maxPrints {
		return list
	}
	print := fingerprint(kind, value)
	for _, have := range list {
		if have == print {
			return list
		}
	}
	return append(list, print)
}

// textFingerprint identifies a visible text by its first 256 characters.
func textFingerprint(text string) []string {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	end := 0
	for n := 0; n < 256 && end < len(text); n++ {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return []string{fingerprint(printText, text[:end])}
}
