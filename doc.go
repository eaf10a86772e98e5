// Package dhruva is the vocabulary of steady memory for AI work.
package dhruva
