// Plays scenarios with a published client, a few at a time, and writes a line of JSON for each.
'use strict'

const http = require('node:http')

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

// The key of the server, if it has any.
const KEY = process.env.OJS_AUTH_TOKEN

async function post(url, path, body) {
  const authorization = KEY ? { authorization: `Bearer ${KEY}` } : {}
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}

// Serves the key as a token, as clients expect it of an OAuth provider; answers its address.
async function tokens() {
  const server = http.createServer((request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ access_token: KEY, expires_in: 600, token_type: 'Bearer' }))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}`
}

// The options by which zeebe-node shows the key, if there is any.
async function oAuth() {
  if (!KEY) return {}
  const client = { clientId: 'client', clientSecret: 'secret', audience: 'ojs' }
  return { oAuth: { url: await tokens(), ...client, cacheOnDisk: false }, useTLS: false }
}

module.exports = { KEY, oAuth, tokens, scenario, unique, expect, refused, promised, play, post }
