package wire

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/dhruva-memory/dhruva"
)

// ErrorBody is one of our own errors in the shape that the dialect's clients
// read: {error:{message,type,param,code}} for OpenAI, {type:"error",
// error:{type,message,details:{error_code}},request_id} for Anthropic. OpenAI
// clients take the request id from the header x-request-id.
func ErrorBody(dialect dhruva.Dialect, status int, code, message, requestID string) []byte {
	if message == "" {
		message = http.StatusText(status)
	}
	if dialect == dhruva.DialectMessages {
		return messagesError(status, code, message, requestID)
	}
	out := append([]byte(nil), `{"error":{"message":`...)
	out = appendString(out, message)
	out = append(out, `,"type":`...)
	out = appendString(out, openAIErrorType(status))
	out = append(out, `,"param":null,"code":`...)
	out = appendString(out, code)
	return append(out, "}}"...)
}

func messagesError(status int, code, message, requestID string) []byte {
	out := append([]byte(nil), `{"type":"error","error":{"type":`...)
	out = appendString(out, anthropicErrorType(status))
	out = append(out, `,"message":`...)
	out = appendString(out, message)
	if code != "" {
		out = append(out, `,"details":{"error_code":`...)
		out = appendString(out, code)
		out = append(out, '}')
	}
	out = append(out, '}')
	if requestID != "" {
		out = append(out, `,"request_id":`...)
		out = appendString(out, requestID)
	}
	return append(out, '}')
}

// appendString appends text as a string literal; an empty one as null, which
// is how the providers write a missing code.
func appendString(out []byte, text string) []byte {
	if text == "" {
		return append(out, "null"...)
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	out = append(out, '"')
	return append(appendEscaped(out, text), '"')
}

func openAIErrorType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

func anthropicErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	case http.StatusServiceUnavailable, 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}
