// SPDX-License-Identifier: GPL-2.0-or-later
// The module of the endpoint; 1.19 is the Go of Debian 12.
module endpoint

go 1.19
