// Plays scenarios with a published client, a few at a time, and writes a line of JSON for each.
'use strict'

const AT_ONCE = 8
const LIMIT_MS = 30_000
const scenarios = []
let numbers = 0

function scenario(name, play) {
  scenarios.push({ name, play })
}

function unique(word = 'task') {
  numbers += 1
  return `${word}-${process.pid}-${numbers}`
}

function expect(found, wanted) {
  const [one, other] = [found, wanted].map((value) => JSON.stringify(value))
  if (one !== other) throw new Error(`found ${one}, wanted ${other}`)
}

// A call that must be refused; answers its error.
async function refused(calling) {
  try {
    await calling
  } catch (error) {
    return error
  }
  throw new Error('the call was not refused')
}

// A promise and what settles it.
function promised() {
  let settle
  const promise = new Promise((resolve) => {
    settle = resolve
  })
  return { promise, settle }
}

function limited(playing) {
  let timer
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${LIMIT_MS} ms`)), LIMIT_MS)
  })
  return Promise.race([playing, limit]).finally(() => clearTimeout(timer))
}

async function play() {
  const waiting = [...scenarios]
  async function next() {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      let error = null
      try {
        await limited(one.play())
      } catch (thrown) {
        error = String((thrown && thrown.stack) || thrown)
      }
      console.log(JSON.stringify({ scenario: one.name, error }))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
  process.exit(0)
}

async function post(url, path, body) {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}

module.exports = { scenario, unique, expect, refused, promised, play, post }
