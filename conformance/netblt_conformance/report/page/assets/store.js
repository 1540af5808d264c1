// SPDX-License-Identifier: GPL-2.0-or-later
// The details of results: compressed blocks in this file, inflated when one of them is shown.

const blocks = new Map();

/** The items of a block (zlib, base64, a JSON list). */
function block(number) {
  if (!blocks.has(number)) {
    blocks.set(
      number,
      (async () => {
        const text = document.getElementById(`block-${number}`).textContent;
        const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
        const inflate = new DecompressionStream("deflate");
        // Not from a Blob: its bytes come by way of another process of the browser.
        const writer = inflate.writable.getWriter();
        const written = Promise.all([writer.write(bytes), writer.close()]);
        const [json] = await Promise.all([new Response(inflate.readable).text(), written]);
        return JSON.parse(json);
      })(),
    );
  }
  return blocks.get(number);
}

/** The detail object of a row, its events as objects; what several results share is stored once. */
async function detailOf(row) {
  const parts = await Promise.all(
    (row.dataset.detail || "")
      .split(" ")
      .filter(Boolean)
      .map(async (place) => {
        const [number, item] = place.split(".").map(Number);
        return (await block(number))[item];
      }),
  );
  const detail = Object.assign({ events: [], messages: {}, deciding: -1 }, ...parts);
  const fields = detail.fields || [];
  detail.events = detail.events.map((values, index) => {
    const event = { index, messages: detail.messages[index] || [] };
    fields.forEach((name, at) => (event[name] = values[at]));
    return event;
  });
  return detail;
}

const DATA_KINDS = ["DATA", "LDATA"];
const isData = (event) => DATA_KINDS.includes(event.kind);
const ACKNOWLEDGING = [...DATA_KINDS, "NULL-ACK"];
const acknowledges = (event) => ACKNOWLEDGING.includes(event.kind);
const has = (event, mark) => (event.marks || "").includes(mark);

/** When an event happened at an end (0 or 1), in us; null: not known. */
function timeAt(event, end) {
  return event.source === end ? event.sent_us : event.arrived_us;
}

/** When an event happened, as near to `end` as it is known. */
function timeNear(event, end) {
  const time = timeAt(event, end);
  return time !== null ? time : (event.sent_us ?? event.arrived_us);
}

const MARKS = { R: "retransmission", L: "late", C: "copy made by the network" };

function markWords(event) {
  const words = Object.keys(MARKS).filter((mark) => has(event, mark)).map((mark) => MARKS[mark]);
  if (event.fate === "damaged") words.push("damaged");
  if (event.fate === "lost") words.push("lost");
  return words;
}

function messageWords([name, seq, buffer, rest]) {
  if (name === "RESEND") return `#${seq} RESEND(buffer ${buffer}, packets ${rest.join(", ")})`;
  if (name === "OK" && rest.length) {
    return `#${seq} OK(buffer ${buffer}, burst ${rest[0]} packets / ${rest[1]} ms, control timer ${rest[2]} ms)`;
  }
  return `#${seq} ${name}(buffer ${buffer})`;
}

/** Everything that is known about a packet: pairs of name and value. */
function fieldsOf(detail, event) {
  const [from, to] = [detail.ends[event.source], detail.ends[1 - event.source]];
  const lines = [["packet", event.label || event.kind], ["from", from.name], ["to", to.name]];
  const sent = event.sent_us === null ? null : `${seconds(event.sent_us)} s`;
  const arrived = event.arrived_us === null ? null : `${seconds(event.arrived_us)} s`;
  if (event.sent_frame || sent) lines.push(["sent", [event.sent_frame ? `frame ${event.sent_frame}` : "", sent].filter(Boolean).join(", ")]);
  if (event.arrived_frame || arrived) {
    lines.push(["arrived", [event.arrived_frame ? `frame ${event.arrived_frame}` : "", arrived].filter(Boolean).join(", ")]);
  }
  if (sent && arrived) lines.push(["on the way", duration(event.arrived_us - event.sent_us)]);
  lines.push(["fate", `${event.fate} (${event.known})`]);
  const marks = markWords(event);
  if (marks.length) lines.push(["marks", marks.join(", ")]);
  if (isData(event)) lines.push(["buffer, packet", `${event.buffer}, ${event.packet}`]);
  if (acknowledges(event)) lines.push(["acknowledges up to control message", `${event.high_seq}`]);
  if (event.bytes) lines.push(["bytes", `${event.bytes}`]);
  for (const message of event.messages) lines.push(["message", messageWords(message)]);
  for (const remark of event.remarks || []) lines.push(["remark", remark]);
  return lines;
}
