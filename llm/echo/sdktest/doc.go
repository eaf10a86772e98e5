// Package sdktest holds the built-in provider to the official SDKs: they are
// the judges of what a well-formed answer is. It has tests only, and a place of
// its own so that the tests and fuzz targets of package echo build without the
// SDKs. It stores nothing.
package sdktest
