// Package agents is what several agents at work in one space need to know of
// each other: the state brief, what is new since a checkpoint, claims, figures,
// and working copies of the project's git repository.
//
// Invariants:
//
//  1. A brief is read at one instant and is small: the most that it holds of each
//     thing is fixed, not asked for. What is empty is left out of its Markdown.
//  2. Text of people and models stands in Markdown such that it makes no heading
//     and no section of its own, and hides nothing that follows it.
//  3. git is run on repositories, and makes working copies at places, that lie
//     below the roots the operator named, all symbolic links resolved. Nothing is
//     allowed by default.
//  4. Nothing that a repository, its configuration or its attributes say is
//     executed: no hook, filter, file system monitor, helper, alias or pager; and
//     nothing is fetched. git sees no environment but ours, no configuration of
//     the user or the system, and no shell.
//  5. Each call of git has a time limit; a probe has at most three calls and three
//     seconds, and what it said, or that it failed, stands for a minute.
//  6. A working copy that could not be made leaves no row, directory or branch. A
//     row whose directory is gone can be closed. Nothing uncommitted is taken away
//     unless that was asked for; a branch is never deleted once it was handed out.
//
// What falls short: a process that may write to a repository while git runs in it
// can change its configuration between our look at it and git's.
//
// It stores nothing of its own; rows are the ledger's. Probes are kept in memory.
//
// Concurrency: Agents and Worktrees are safe for concurrent use.
package agents
