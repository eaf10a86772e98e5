package sqlstore

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dhruva-memory/dhruva"
)

// pgError is a refusal of the server: its code and its message. Its detail is
// left out, since it shows the values of columns.
type pgError struct{ code, message string }

func (e *pgError) Error() string { return "postgres: " + e.message + " (" + e.code + ")" }

// postgresError classifies by SQLSTATE, never by text.
func postgresError(m *pgproto3.ErrorResponse) error {
	e := &pgError{m.Code, m.Message}
	if is := postgresClass(m.Code); is == errAgain {
		return &again{e}
	} else if is != nil {
		return fmt.Errorf("%w: %w", is, e)
	}
	return e
}

// unprepared: what was prepared is not what the server has. Another version has
// changed a table, or there is a pooler between that is not said in the URL
// (default_query_exec_mode=exec).
func unprepared(code string) bool { return code == "0A000" || code == "26000" || code == "42P05" }

// errAgain stands for codes after which the transaction is run again.
var errAgain = fmt.Errorf("again")

// postgresClass is what a code means to us, nil when nothing that we know.
func postgresClass(code string) error {
	switch code {
	case "40001", "40P01": // serialization failure, deadlock
		return errAgain
	case "22021", "22P05": // a character that is none, or that text cannot hold
		return dhruva.ErrInvalid
	case "25006", "25P03", "55P03", "55006": // read only; idle in transaction for too long; lock not had; object in use
		return dhruva.ErrUnavailable
	}
	if len(code) != 5 {
		return nil
	}
	switch code[:2] {
	case "23": // a constraint
		return dhruva.ErrConflict
	case "54": // a limit of the program
		return dhruva.ErrTooLarge
	case "08", "53", "57", "58", "F0", "XX": // connection, resources, operator, system, configuration file, internal
		return dhruva.ErrUnavailable
	}
	return nil
}
