package sqlstore

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/dhruva-memory/dhruva"
)

const (
	vectorColumns   = "tenant, space, generation, source, model, part, span_start, span_end, embedding, created_at"
	selectVectors   = "SELECT " + vectorColumns + " FROM vectors WHERE tenant = $1 AND space = $2 AND generation = $3 AND (CAST($4 AS TEXT) = '' OR model = $4)"
	vectorsOfAll    = selectVectors + " AND source > $5 ORDER BY source, model, part LIMIT $6"
	vectorsOfSource = selectVectors + " AND source = $5 AND (model, part) > ($6, $7) ORDER BY model, part"
	upsertVector    = "INSERT INTO vectors (" + vectorColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (tenant, space, generation, source, model, part) DO UPDATE SET span_start = excluded.span_start,
		span_end = excluded.span_end, embedding = excluded.embedding, created_at = excluded.created_at`
	deleteVectors = "DELETE FROM vectors WHERE tenant = $1 AND space = $2 AND generation = $3 AND source = $4"
)

// floats reads a column of little-endian float32 values; an empty one is nil.
type floats struct{ v *[]float32 }

// Scan implements sql.Scanner.
func (f floats) Scan(v any) error {
	b, ok := v.([]byte)
	if v != nil && !ok || len(b)%4 != 0 {
		return fmt.Errorf("column of numbers holds %T of %d bytes", v, len(b))
	}
	*f.v = nil
	if len(b) > 0 {
		*f.v = make([]float32, len(b)/4)
	}
	for n := range *f.v {
		(*f.v)[n] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*n:]))
	}
	return nil
}

// littleEndian is the column form of numbers.
func littleEndian(values []float32) []byte {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func scanVector(r scanner) (row dhruva.Vector, err error) {
	return row, r.Scan(&row.Tenant, &row.Space, &row.Generation, &row.Source, &row.Model, &row.Part, &row.Start, &row.End,
		floats{&row.Values}, micros{&row.CreatedAt})
}

func (t *tx) PutVector(row dhruva.Vector) error {
	if err := row.Validate(); err != nil {
		return invalid("vector", err)
	}
	if err := t.allow("vector", t.reach.Covers(row.Tenant, row.Space), 1); err != nil {
		return err
	}
	err := t.send("put vector", upsertVector, string(row.Tenant), string(row.Space), row.Generation, string(row.Source), row.Model,
		row.Part, row.Start, row.End, littleEndian(row.Values), row.CreatedAt.UnixMicro())
	return err
}

// ListVectors reads a page and then the rest of the source that its limit tore.
func (t *tx) ListVectors(q dhruva.VectorQuery) ([]dhruva.Vector, error) {
	if !t.reach.Holds(q.Space) {
		return nil, nil
	}
	if q.Source != "" {
		if string(q.Source) <= q.After || !findable([]any{q.After}) {
			return nil, nil
		}
		return t.rest(q, dhruva.Vector{Source: q.Source, Part: math.MinInt})
	}
	rows, err := collect(t, "vectors", scanVector, vectorsOfAll, string(t.reach.Tenant), string(q.Space), q.Generation, q.Model, q.After, q.Size())
	if err != nil || len(rows) < q.Size() {
		return rows, err
	}
	rest, err := t.rest(q, rows[len(rows)-1])
	return append(rows, rest...), err
}

// rest are those of a source that come after one of its vectors.
func (t *tx) rest(q dhruva.VectorQuery, last dhruva.Vector) ([]dhruva.Vector, error) {
	return collect(t, "vectors", scanVector, vectorsOfSource, string(t.reach.Tenant), string(q.Space), q.Generation, q.Model,
		string(last.Source), last.Model, last.Part)
}

func (t *tx) DropVectors(s dhruva.SpaceID, g int64, id dhruva.SourceID) error {
	if err := t.allow("vector", t.reach.Holds(s), 1); err != nil {
		return err
	}
	return t.drop("vectors", deleteVectors, string(t.reach.Tenant), string(s), g, string(id))
}
