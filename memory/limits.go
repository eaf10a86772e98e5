package memory

import "time"

// withDefaults fills the zero fields.
func (l Limits) withDefaults() Limits {
	l.RecallTime = or(l.RecallTime, 400*time.Millisecond)
	l.RecallTokens = or(l.RecallTokens, 512)
	l.CheckpointTokens = or(l.CheckpointTokens, 1024)
	l.TopK = or(l.TopK, 8)
	l.MaxTopK = or(l.MaxTopK, 50)
	l.InjectTopK = or(l.InjectTopK, 6)
	l.InjectFloor = or(l.InjectFloor, .2)
	l.HistoryTurns = or(l.HistoryTurns, 200)
	l.HistoryTokens = or(l.HistoryTokens, 24_000)
	l.ArtifactTokens = or(l.ArtifactTokens, 4096)
	l.QueryBytes = or(l.QueryBytes, 4<<10)
	l.SendBytes = or(l.SendBytes, 256<<10)
	return l
}
