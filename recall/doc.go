// Package recall finds what was said. This file's half is the ranking: an
// in-process inverted index of one space that answers a query with references
// and scores.
//
// Invariants of the index:
//
//  1. It never returns or holds text. What it keeps of a turn is its reference,
//     who said it and when, a sequence of term numbers (terms are keyed hashes of
//     words), and surface features. It can be dropped and rebuilt at any time.
//  2. Its answers depend only on the set of documents in it, not on the order in
//     which they came, nor on documents that were there once.
//  3. A removed document is gone when Remove returns: postings, terms that only
//     it used, speaker and group.
//  4. A hit shares at least one word with the query, itself or through the turns
//     beside it (see Hit); a query that shares nothing gets nothing.
//  5. Query.Allow removes candidates before the top k are chosen, so a filter
//     never shortens an answer that could have been filled.
//  6. At most 100,000 words of one document are searchable.
//
// Concurrency: an Index is guarded by one RWMutex. Any number of searches run
// together; Add and Remove are exclusive, and analyse the text before they take
// the lock.
package recall
