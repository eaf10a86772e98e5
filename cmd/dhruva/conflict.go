package main

import "regexp"

// conflictFix is what to do about a conflict, by what the answer says of it; ""
// where nothing more exact is known than to read again.
func conflictFix(detail string) string {
	for _, c := range conflicts() {
		if regexp.MustCompile(c.says).MatchString(detail) {
			return c.fix
		}
	}
	return ""
}

type conflict struct{ says, fix string }

// conflicts are the table: the first that fits counts. They hold on to the ends of
// an answer, since names of people's choice stand in it.
func conflicts() []conflict {
	return []conflict{
		{`^there is nothing to undo$`, "`dhruva reflog SPACE` shows what moved; --branch NAME names another branch"},
		{`^there is nothing to redo$`, "only an undo is taken back by a redo; `dhruva reflog SPACE` shows the moves"},
		{`^the \w+ that would be taken back left branch `, fixOtherBranch},
		{`would go back, was deleted$`, fixOtherBranch},
		{`^the claim is \w+ already$`, "nothing is left to end; `dhruva claim list SPACE` shows the claims in force"},
		{`^the claim expired at `, "claim it anew with `dhruva claim create SPACE`"},
		{`^the worktree is closed already$`, "nothing is left to close; `dhruva worktree list SPACE` shows the open ones"},
		{`^worktree \S+ is closed$`, "leave --worktree out, or name an open one: `dhruva worktree list SPACE` shows them"},
		{`^the worktree has \d+ files that are not committed`, "commit what is there, or add --force to lose it"},
		{`^git does not remove the worktree: `, "mend what git says, or add --force to lose what is there"},
		{`^branch ".*" exists$`, "choose another name with --branch"},
		{`not at the stated parent \w+$`, "leave --parent out to save on top of the branch, or add --branch with a new name to save beside it"},
		{`^branch ".*" is at \w+ already$`, "nothing is left to do; `dhruva log SPACE` shows the checkpoints"},
		{`came before the mount; `, "take the mount away with `dhruva mount SESSION --off`"},
		{` is the beginning of \w+ `, "give more of it, or the whole"},
		{` have no common ancestor, `, "compare them with `dhruva diff`, and save what shall hold with `dhruva checkpoint create`"},
	}
}

const fixOtherBranch = "that branch cannot go back; --branch NAME takes back the last move of another one, and `dhruva reflog SPACE` shows them"
