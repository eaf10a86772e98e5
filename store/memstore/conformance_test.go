package memstore_test

import (
	"testing"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/store/memstore"
	"github.com/dhruva-memory/dhruva/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) dhruva.Store { return memstore.New() }, storetest.Traits{Serial: true})
}
