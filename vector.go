package dhruva

import (
	"fmt"
	"math"
	"time"
)

// Vector is the embedding of a span of a source under one model. Vectors are
// derived: they can be dropped and computed again.
type Vector struct {
	Tenant     TenantID
	Space      SpaceID
	Generation int64
	Source     SourceID
	Model      string
	// Part counts the spans of the source, from 0.
	Part       int
	Start, End int // byte offsets in the source's text
	Values     []float32
	CreatedAt  time.Time
}

// VectorQuery selects vectors of one generation, in (Source, Model, Part)
// order, of the sources after a source id.
type VectorQuery struct {
	Space      SpaceID
	Generation int64
	Model      string   // "" means any
	Source     SourceID // "" means any
	Page                // After is a source id; Limit counts vectors, and the parts of a source are not torn
}

// VectorRows are the vectors of the scope's spaces.
type VectorRows interface {
	// PutVector inserts or replaces.
	PutVector(Vector) error
	// ListVectors answers whole sources: when the limit falls within the parts of
	// a source the rest of them follow.
	ListVectors(VectorQuery) ([]Vector, error)
	// DropVectors removes all vectors of a source, of every model; it counts as
	// one row.
	DropVectors(SpaceID, int64, SourceID) error
}

// Validate is as said in row.go; the values are numbers.
func (v Vector) Validate() error {
	for _, x := range v.Values {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("%w: vector: %v is no number", ErrInvalid, x)
		}
	}
	return firstError(validKey("vector", string(v.Tenant), string(v.Space), string(v.Source), v.Model), validTime("vector", v.CreatedAt))
}

// Canonical is as said in row.go.
func (v Vector) Canonical() Vector {
	v.CreatedAt, v.Values = Micros(v.CreatedAt), list(v.Values)
	return v
}
