// The server writes whole pages. This script gets the page again after a change, and
// replaces what differs: what has the focus, what is open and what was typed stays.
"use strict";

const state = document.getElementById("state");

function say(text, live) {
  if (state.textContent !== text) state.textContent = text;
  state.dataset.live = live;
}

// key is what makes an element the same one in the old and in the new page.
const key = (node) => (node.nodeType === 1 && node.getAttribute("id")) || ""; // form.id may be a field

function morph(old, fresh) {
  if (old.nodeType === 3) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.nodeType !== 1) return;
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.tagName === "TEXTAREA" || old.tagName === "INPUT") return;
  if (old.tagName === "SELECT") { // its choice is the user's
    const chosen = old.value;
    morphChildren(old, fresh);
    old.value = chosen;
    return;
  }
  if (old.dataset && (old.dataset.until || old.dataset.since)) return; // tick writes its text
  morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  const known = new Map();
  for (const child of old.childNodes) if (key(child)) known.set(key(child), child);
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    let same = null;
    if (key(child)) {
      same = known.get(key(child)) || null;
    } else {
      while (at && key(at)) at = at.nextSibling;
      if (at && at.nodeType === child.nodeType && at.nodeName === child.nodeName) same = at;
    }
    if (same && same.nodeName === child.nodeName) {
      if (same === at) at = at.nextSibling;
      else old.insertBefore(same, at);
      morph(same, child);
      child.remove();
      same.kept = true;
    } else {
      const added = document.importNode(child, true);
      added.kept = true;
      old.insertBefore(added, at);
    }
  }
  for (const child of [...old.childNodes]) {
    if (child.kept) delete child.kept;
    else child.remove();
  }
}

let wanted = false, getting = false, held = false;

const hold = document.getElementById("hold");
hold.hidden = false;
hold.addEventListener("click", () => {
  held = !held;
  hold.setAttribute("aria-pressed", String(held));
  hold.textContent = held ? "Resume updates" : "Stop updates";
  if (held) say("stopped at " + new Date().toLocaleTimeString(), "yes");
  else connected();
  refresh();
});

async function refresh() {
  if ("still" in document.getElementById("main").dataset) return; // the answer to a form
  wanted = true;
  if (getting || held || document.hidden) return;
  getting = true;
  try {
    while (wanted && !held && !document.hidden) {
      wanted = false;
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const main = page.getElementById("main");
      if (main) morphChildren(document.getElementById("main"), main);
      document.documentElement.dataset.now = page.documentElement.dataset.now || "";
      tick();
    }
  } catch {
    wanted = true; // the next event of the stream tries again
  } finally {
    getting = false;
  }
}

function span(ms) {
  const s = Math.floor(ms / 1000);
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + (s % 60) + " s";
  return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
}

function tick() {
  const now = Number(document.documentElement.dataset.now) || Date.now(); // of a recording
  for (const e of document.querySelectorAll("time[data-until]")) {
    const left = Number(e.dataset.until) - now;
    const text = left > 0 ? span(left + 999) : "now";
    if (e.textContent !== text) e.textContent = text;
  }
  for (const e of document.querySelectorAll("time[data-since]")) {
    const text = span(Math.max(0, now - Number(e.dataset.since)));
    if (e.textContent !== text) e.textContent = text;
  }
}

tick();
setInterval(tick, 1000);
setInterval(refresh, 5000); // for what changes by the clock alone: timeouts and plots
document.addEventListener("visibilitychange", refresh);

say("connecting", "no");
const stream = new EventSource("/changes");
const connected = () => say(document.documentElement.dataset.now ? "a recording" : "live", "yes");
stream.onopen = connected;
stream.onmessage = refresh;
stream.onerror = () => say("not live: the command has ended, or is starting", "no");
